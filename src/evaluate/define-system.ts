/** Runs of any system as results of an evaluation. */

import { CoaError } from "../core/errors.ts";
import type { System, SystemResult } from "../core/system.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { chainPath, teamPath } from "./critical-path.ts";

/** A system from a function that returns a trajectory, a team run or just an answer with its usage. */
export function defineSystem(definition: {
  name: string;
  topology?: string;
  identity?: Readonly<Record<string, unknown>>;
  run(...call: Parameters<System["run"]>): Promise<Trajectory | TeamRun | SystemResult>;
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
  const formatErrors = trajectory.violations.length;
  return { answer, ending, usage, path, toolCalls, tokensByRole, formatErrors, ...(replayed && { replayed }), run };
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

/** The recorded runs by their task or question; a task without one is a run that failed. */
export function recordedSystem(
  runs: readonly TeamRun[],
  options: { name?: string; fingerprint?: string } = {},
): System {
  const byTask = new Map<string, TeamRun>();
  const byQuestion = new Map<string, TeamRun>();
  for (const run of runs) {
    if (run.taskId !== undefined && !byTask.has(run.taskId)) byTask.set(run.taskId, run);
    if (!byQuestion.has(run.question)) byQuestion.set(run.question, run);
  }
  const topologies = [...new Set(runs.map(({ topology }) => topology))];
  return defineSystem({
    name: options.name ?? "recorded",
    ...(topologies.length === 1 && { topology: topologies[0] }),
    identity: { kind: "recorded", runs: runs.length, fingerprint: options.fingerprint },
    async run(task) {
      const run = byTask.get(task.id) ?? byQuestion.get(task.question);
      if (!run) throw new CoaError("record", `no run of task ${task.id} was recorded`);
      return run;
    },
  });
}
