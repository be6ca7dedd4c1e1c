/**
 * The team as a live teacher: it continues where the student made a mistake. The team works on the student's task with
 * tools that repeat what the student was shown, and continue with real ones where the student never looked. So its run
 * is what the team would have done in the student's place. A step of the student is right where the team makes the same
 * call too (whenever it makes it) and a plan where it is the team's own plan. The first step that is neither is the
 * wrong one, and what the team does there instead is the correction.
 */

import type { Grader } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import { emptyUsage, type Usage } from "../core/usage.ts";
import { callKey } from "../language/call-body.ts";
import type { Profile } from "../language/profile.ts";
import type { Corrector } from "./corrections.ts";

export interface TeamCorrectorOptions {
  name: string;
  profile: Profile;
  /** The tools of a task, without the student's observations. */
  tools: (task: Task) => readonly Tool[] | Promise<readonly Tool[]>;
  /** Lets the team work on the task with these tools: its run as a chain of the profile, or null with the reason. */
  play: (
    task: Task,
    tools: readonly Tool[],
    options: { id: string; signal?: AbortSignal },
  ) => Promise<{ chain: Trajectory | null; reason?: string; usage?: Usage }>;
  /** A team that answers wrongly has nothing to teach; without a grader it is trusted. */
  grader?: Grader;
}

/** A corrector that asks the team once for each chain. */
export function teamCorrector(options: TeamCorrectorOptions): Corrector {
  const { name, profile, grader } = options;
  return {
    name,
    async correct(task, trajectory, { signal } = {}) {
      const tools = repeating(await options.tools(task), trajectory);
      const id = `correct-${trajectory.id}`;
      const { chain, reason, usage = emptyUsage() } = await options.play(task, tools, { id, signal });
      if (!chain) return { correction: null, reason: `the team has no chain: ${reason ?? "it gave no answer"}` };
      const verdict = await grader?.(task, chain.answer, { signal });
      if (verdict && verdict.correct !== true) return { correction: null, reason: "the team's answer is wrong" };
      const found = firstWrongStep(profile, trajectory.segments, chain.segments);
      if (!found) return { correction: null, reason: "every step is one of the team's" };
      return { correction: { ...found, usage } };
    },
  };
}

/** A run of segments by the model up to a call or an answer. */
interface Step {
  from: number;
  to: number;
  /** The call or answer that ends it; null where the chain broke off. */
  act: string | null;
  plans: string[];
}

/** Where the student first does what the team does not, and the team's step for that place; null where it never does. */
function firstWrongStep(
  profile: Profile,
  student: readonly Segment[],
  team: readonly Segment[],
): { from: number; segments: Segment[] } | null {
  const teamSteps = stepsOf(profile, team);
  const plans = new Set(teamSteps.flatMap((step) => step.plans));
  const open = [...teamSteps];
  let end = 0;
  for (const step of stepsOf(profile, student)) {
    const at = open.findIndex(({ act }) => act !== null && act === step.act);
    const right = at !== -1 && step.plans.every((plan) => plans.has(plan));
    end = right ? step.to : step.from;
    if (!right) break;
    open.splice(at, 1);
  }
  const [next] = open;
  if (!next || next.act === null) return null;
  // Observations that follow the last right step belong to it.
  while (end < student.length && student[end]!.by !== "model") end++;
  return { from: end, segments: team.slice(next.from, next.to).map(bare) };
}

function stepsOf(profile: Profile, segments: readonly Segment[]): Step[] {
  const calls = new Set(profile.tags.filter((tag) => tag.tool !== undefined).map((tag) => tag.name));
  const steps: Step[] = [];
  let step: Step | null = null;
  for (const [index, { tag, text, by }] of segments.entries()) {
    if (by !== "model") {
      step = null;
      continue;
    }
    if (!step) steps.push((step = { from: index, to: index, act: null, plans: [] }));
    step.to = index + 1;
    if (tag === "plan") step.plans.push(normal(text));
    if (calls.has(tag) || tag === profile.answer) {
      step.act = `${tag} ${normal(text)}`;
      step = null;
    }
  }
  return steps;
}

const normal = (text: string) => text.trim().replace(/\s+/g, " ");

/** A segment as the student is to write it: without the ids and probabilities of its first writer. */
function bare({ tag, text, by, raw }: Segment): Segment {
  return { tag, text, by, ...(raw === undefined ? {} : { raw }) };
}

/** Tools that answer a call of the chain as the chain was answered, in order, and any other call for real. */
function repeating(tools: readonly Tool[], { segments }: Trajectory): Tool[] {
  const shown = new Map<string, string[]>();
  for (const { call, text } of segments) {
    if (!call) continue;
    const key = callKey(call.tool, call.input);
    shown.set(key, [...(shown.get(key) ?? []), text.trim()]);
  }
  return tools.map((tool) => ({
    ...tool,
    stateful: true,
    execute: (input, context) => shown.get(callKey(tool.name, input))?.shift() ?? tool.execute(input, context),
  }));
}
