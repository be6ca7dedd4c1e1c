/**
 * A system is anything that answers a task: a team of agents, a chain, a bare model, somebody's script. Evaluation sees
 * only this, so that all are compared by one function and none is favoured.
 */
import { type CriticalPath, chainPath, teamPath } from "./critical-path.ts";
import type { Task } from "./task.ts";
import type { TeamRun } from "./team-run.ts";
import type { Ending, Trajectory } from "./trajectory.ts";
import type { Usage } from "./usage.ts";

export interface SystemRunOptions {
  /** Which of several samples of the same task this is. */
  sample: number;
  /** The same for the same evaluation seed, task and sample. */
  seed: number;
  signal?: AbortSignal;
}

/** What a system did for one task. */
export interface SystemResult {
  answer: string | null;
  ending: Ending;
  usage: Usage;
  /** Turns that had to wait for each other, and the time along them; absent where nothing is known of how it went. */
  path?: CriticalPath;
  /** Calls of each tool. */
  toolCalls: Record<string, number>;
  /** Billed tokens of each agent role, or of each tag of a chain. */
  tokensByRole: Record<string, number>;
  /** The score that the system's own check gave the answer, where it checks; higher is surer. */
  check?: number;
  /** The same score, moved towards its neighbour by the chance that it would not have been written; where the model tells. */
  sureness?: number;
  /** Calls that a recording answered, and those it lacked; absent where the tools were live. */
  replayed?: { calls: number; missing: number };
  /** Where the answer was chosen among several: which one, why, and all of them. */
  chosen?: { index: number | null; reason: string; candidates: readonly SystemResult[] };
  /** Everything it did, kept beside the results. */
  run?: { kind: "trajectory"; value: Trajectory } | { kind: "team-run"; value: TeamRun };
}

export interface System {
  readonly name: string;
  /** How its agents share context, where it has several: a saving is only quoted against a named topology. */
  readonly topology?: string;
  /** What it is in full, as plain data: model, profile, tools, sampling. A figure is never shown for another identity. */
  readonly identity?: Readonly<Record<string, unknown>>;
  run(task: Task, options: SystemRunOptions): Promise<SystemResult>;
}

/** A system from a function that returns a trajectory, a team run or just an answer with its usage. */
export function defineSystem(definition: {
  name: string;
  topology?: string;
  identity?: Readonly<Record<string, unknown>>;
  run(task: Task, options: SystemRunOptions): Promise<Trajectory | TeamRun | SystemResult>;
}): System {
  const { name, topology, identity } = definition;
  return {
    name,
    topology,
    identity,
    async run(task, options) {
      const done = await definition.run(task, options);
      if ("segments" in done) return trajectoryResult(done);
      return "agents" in done ? teamRunResult(done) : done;
    },
  };
}

/** What a trajectory counts as in an evaluation. */
export function trajectoryResult(trajectory: Trajectory): SystemResult {
  const toolCalls: Record<string, number> = {};
  const written: Record<string, number> = {};
  let replayed: SystemResult["replayed"];
  for (const segment of trajectory.segments) {
    const source = segment.call?.answeredBy;
    if (source === "recording" || source === "not-recorded") {
      replayed ??= { calls: 0, missing: 0 };
      replayed.calls++;
      if (source === "not-recorded") replayed.missing++;
    }
    if (segment.call && !segment.call.repeated) toolCalls[segment.call.tool] = (toolCalls[segment.call.tool] ?? 0) + 1;
    written[segment.tag] = (written[segment.tag] ?? 0) + (segment.tokens?.length ?? segment.text.length);
  }
  const { answer, ending, usage } = trajectory;
  const tokensByRole = share(usage.billedTokens, written);
  const run = { kind: "trajectory" as const, value: trajectory };
  const path = chainPath(trajectory);
  return { answer, ending, usage, path, toolCalls, tokensByRole, ...(replayed && { replayed }), run };
}

/** What a team run counts as in an evaluation. */
function teamRunResult(run: TeamRun): SystemResult {
  const roles = new Map(run.agents.map((agent) => [agent.id, agent.role ?? agent.name]));
  const toolCalls: Record<string, number> = {};
  const tokensByRole: Record<string, number> = {};
  for (const step of run.steps) {
    const role = roles.get(step.agentId) ?? step.agentId;
    tokensByRole[role] = (tokensByRole[role] ?? 0) + step.promptTokens + step.completionTokens;
    // A delegation is a call inside the team, not of a tool.
    for (const call of step.toolCalls) if (!call.delegatesTo) toolCalls[call.name] = (toolCalls[call.name] ?? 0) + 1;
  }
  const { reason, detail } = run.ending;
  return {
    answer: run.answer,
    ending: { reason, ...(detail !== undefined && { detail }) },
    usage: run.usage,
    path: teamPath(run),
    toolCalls,
    tokensByRole,
    ...(typeof run.scores?.at(-1) === "number" && { check: run.scores.at(-1)! }),
    run: { kind: "team-run", value: run },
  };
}

/** Splits billed tokens over tags by how much each holds: a chain re-reads its whole sequence at every call. */
function share(total: number, written: Record<string, number>): Record<string, number> {
  const all = Object.values(written).reduce((sum, part) => sum + part, 0);
  if (all === 0) return {};
  return Object.fromEntries(Object.entries(written).map(([tag, part]) => [tag, (total * part) / all]));
}
