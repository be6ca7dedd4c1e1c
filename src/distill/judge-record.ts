/**
 * One input line through conversion and every stage that needs no other line. Whatever goes wrong with a line (no JSON,
 * another shape, a filter that throws) is the outcome of that line and of nothing else.
 */
import type { FilterDecision } from "../core/chain-marks.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { loadTasks } from "../tasks/benchmarks/load-tasks.ts";
import { type DistillConfig, type DistillPlugins, recordStages } from "./distill-config.ts";
import { chainUsage, distillRun } from "./distill-run.ts";
import { signatureOf } from "./stages/near-duplicates.ts";
import { interactionsOf } from "./stages/quality.ts";
import { correctsItself } from "./stages/sampling.ts";
import type { StageContext } from "./stages/stage.ts";
import type { TaskIndex } from "./task-index.ts";

/** What the report needs to know of a chain. */
export interface ChainFacts {
  hops: number;
  tools: Record<string, number>;
  billed: number;
  computed: number;
  reflects: boolean;
  corrects: boolean;
  filledThoughts: number;
  /** What the team spent on the same task, and in which topology. */
  team?: { topology: string; billed: number; computed: number; modelCalls: number };
}

export interface RecordOutcome {
  id: string;
  taskId: string;
  family: string;
  /** The stage that dropped it; null when it passed all. */
  stage: string | null;
  reason?: string;
  detail?: string;
  /** Something is broken (the line, a filter), as opposed to not good enough. */
  problem?: boolean;
  facts?: ChainFacts;
  /** What each stage decided, in order; the last one dropped it where one did. */
  decisions?: FilterDecision[];
  trajectory?: Trajectory;
  signature?: Uint32Array;
}

export function recordJudge(
  config: DistillConfig,
  plugins: DistillPlugins,
  tasks: TaskIndex,
  signal?: AbortSignal,
): (line: string) => Promise<RecordOutcome> {
  const stages = recordStages(config, plugins);
  const wantsSignature = (config.nearDuplicates ?? 0.95) <= 1 && !config.skip?.includes("near-duplicate");

  return async (line) => {
    const read = readRecord(line);
    if ("problem" in read) {
      return {
        id: read.id,
        taskId: "",
        family: "",
        stage: "input",
        reason: read.problem,
        detail: read.detail,
        problem: true,
      };
    }
    const { run } = read;
    const task = run
      ? tasks.find(run.taskId, run.question)
      : tasks.find(read.trajectory!.taskId, questionOf(read.trajectory!));
    const taskId = task?.id ?? (run ? (run.taskId ?? run.id) : read.trajectory!.taskId);
    const base = {
      id: run?.id ?? read.trajectory!.id,
      taskId,
      family: task?.family ?? (run ?? read.trajectory!).family ?? "",
    };
    let trajectory = read.trajectory;
    if (run) {
      try {
        const { profile, systemPrompt, tools, toolTags, fill = false } = config;
        const { countTokens } = plugins;
        const made = distillRun({ ...run, taskId }, { profile, systemPrompt, tools, toolTags, fill, countTokens });
        if (made.failure) {
          const { rule, step, message } = made.failure;
          return { ...base, stage: "convert", reason: rule, detail: `step ${step}: ${message}`, facts: teamFacts(run) };
        }
        trajectory = made.trajectory;
      } catch (error) {
        return { ...base, stage: "convert", reason: "conversion failed", detail: messageOf(error), problem: true };
      }
    }
    const chain = withLength(trajectory!, plugins.countTokens);
    // A run with tools of its own was laid out in a profile of its own.
    const profile = chain.language?.profile ?? config.profile;
    const facts = chainFacts(chain, run, profile.think, profile.answer);
    const context: StageContext = { profile, task, run, signal };
    const decisions: FilterDecision[] = [];
    const decided = { ...base, facts, decisions };
    for (const { name, judge } of stages) {
      let verdict: Omit<FilterDecision, "stage" | "kept"> | null;
      try {
        verdict = await judge(chain, context);
      } catch (error) {
        if (isAbort(error)) throw error;
        verdict = { reason: "filter failed", detail: messageOf(error), problem: true };
      }
      decisions.push({ stage: name, kept: verdict?.reason === undefined, ...verdict });
      if (verdict?.reason === undefined) continue;
      const { reason, detail, problem } = verdict;
      return {
        ...decided,
        stage: name,
        reason,
        detail,
        ...(problem && { problem }),
        trajectory: { ...chain, decisions },
      };
    }
    return {
      ...decided,
      stage: null,
      trajectory: { ...chain, decisions },
      ...(wantsSignature && { signature: signatureOf(chain) }),
    };
  };
}

/** An outcome with its trajectory as the line it will be written as. */
export type WireOutcome = Omit<RecordOutcome, "trajectory"> & { line?: string };

export async function readTasks(files: readonly string[]): Promise<Task[]> {
  const lists = await Promise.all(files.map((file) => loadTasks(file, { allowMissingGolds: true })));
  return lists.flat();
}

/** Judges a batch and writes its chains as lines. */
export async function judgeBatch(
  judge: (line: string) => Promise<RecordOutcome>,
  lines: readonly string[],
): Promise<WireOutcome[]> {
  // All at once: graders and checks that ask a model wait together, and the rest never waits.
  return Promise.all(
    lines.map(async (line): Promise<WireOutcome> => {
      const { trajectory, ...outcome } = await judge(line);
      return trajectory ? { ...outcome, line: JSON.stringify(trajectory) } : outcome;
    }),
  );
}

function questionOf({ prompt }: Trajectory): string {
  return prompt.findLast((message) => message.role === "user")?.content ?? "";
}

function readRecord(
  line: string,
):
  | { run: TeamRun; trajectory?: undefined }
  | { run?: undefined; trajectory: Trajectory }
  | { problem: string; detail: string; id: string } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return { problem: "not JSON", detail: messageOf(error), id: "" };
  }
  // A line of an RL run's rollouts.jsonl holds its chain: keeping the right ones is rejection sampling.
  const held = (value as { trajectory?: { segments?: unknown } } | null)?.trajectory;
  if (held?.segments !== undefined) value = held;
  const object = (value ?? {}) as { id?: unknown; segments?: unknown };
  const parsed = object.segments === undefined ? teamRunSchema.safeParse(value) : trajectorySchema.safeParse(value);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, 3).map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    return { problem: "not a team run or trajectory", detail: issues.join("; "), id: String(object.id ?? "") };
  }
  return object.segments === undefined ? { run: parsed.data as TeamRun } : { trajectory: parsed.data as Trajectory };
}

/** A chain whose usage says how long it is; sampled ones know, imported ones may not. */
function withLength(trajectory: Trajectory, countTokens?: (text: string) => number): Trajectory {
  if (trajectory.usage.computedTokens > 0) return trajectory;
  return { ...trajectory, usage: chainUsage(trajectory.prompt, trajectory.segments, countTokens) };
}

function teamFacts(run: TeamRun): ChainFacts {
  const { billedTokens: billed, computedTokens: computed, modelCalls } = run.usage;
  const none = { hops: 0, tools: {}, billed: 0, computed: 0, reflects: false, corrects: false, filledThoughts: 0 };
  return { ...none, team: { topology: run.topology, billed, computed, modelCalls } };
}

function chainFacts(chain: Trajectory, run: TeamRun | undefined, think: string, answer: string): ChainFacts {
  const tools: Record<string, number> = {};
  for (const { call } of chain.segments) if (call) tools[call.tool] = (tools[call.tool] ?? 0) + 1;
  return {
    ...(run && teamFacts(run)),
    hops: interactionsOf(chain, think, answer),
    tools,
    billed: chain.usage.billedTokens,
    computed: chain.usage.computedTokens,
    reflects: chain.segments.some((segment) => segment.tag === "reflection" && segment.by === "model"),
    corrects: correctsItself(chain),
    filledThoughts: chain.distilled?.filledThoughts ?? 0,
  };
}
