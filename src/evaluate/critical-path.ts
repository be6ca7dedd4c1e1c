/**
 * How long a run had to be, whatever it cost: model turns that waited for each other, and the time along that path.
 * Parallel calls count once, as the slowest of them, so what is done in parallel shows here and nowhere else.
 */
import type { CriticalPath } from "../core/system.ts";
import type { TeamRun, TeamStep } from "../core/team-run.ts";
import type { Trajectory } from "../core/trajectory.ts";

/** The path of a chain: each turn of the model, and the slowest of the calls it made. */
export function chainPath({ segments }: Pick<Trajectory, "segments">): CriticalPath {
  const path = { rounds: 0, ms: 0 };
  let slowest = 0;
  for (const [index, { by, call, startedAt, endedAt }] of segments.entries()) {
    if (by === "model") {
      if (segments[index - 1]?.by !== "model") path.rounds++;
      path.ms += slowest + lasted(startedAt, endedAt);
      slowest = 0;
    } else slowest = Math.max(slowest, call?.ms ?? 0);
  }
  path.ms += slowest;
  return path;
}

/** The path of a team: an agent's steps one after the other, of parallel agents only the longest. */
export function teamPath({ steps, agents }: Pick<TeamRun, "steps" | "agents">): CriticalPath {
  const stepsOf = Map.groupBy(steps, (step) => step.agentId);
  const byCall = new Map(agents.flatMap((agent) => (agent.parentCallId ? [[agent.parentCallId, agent.id]] : [])));
  const called = new Set(byCall.values());
  // An agent that is named by its own descendant in a broken recording is not followed twice.
  const ofAgent = (id: string, above: readonly string[]): CriticalPath =>
    above.includes(id) ? nothing : sum((stepsOf.get(id) ?? []).map((step) => ofStep(step, [...above, id])));
  const ofStep = (step: TeamStep, above: readonly string[]): CriticalPath => {
    const branches = step.toolCalls.map((call) => {
      const agent = call.delegatesTo ?? byCall.get(call.id);
      return agent === undefined ? { rounds: 0, ms: lasted(call.startedAt, call.endedAt) } : ofAgent(agent, above);
    });
    return {
      rounds: 1 + Math.max(0, ...branches.map(({ rounds }) => rounds)),
      ms: lasted(step.startedAt, step.endedAt) + Math.max(0, ...branches.map(({ ms }) => ms)),
    };
  };
  const delegated = new Set(
    steps.flatMap((step) => step.toolCalls.flatMap(({ delegatesTo }) => (delegatesTo ? [delegatesTo] : []))),
  );
  const roots = agents.filter(({ id }) => !called.has(id) && !delegated.has(id));
  return sum(roots.map(({ id }) => ofAgent(id, [])));
}

const nothing: CriticalPath = { rounds: 0, ms: 0 };

function sum(paths: readonly CriticalPath[]): CriticalPath {
  return paths.reduce((all, one) => ({ rounds: all.rounds + one.rounds, ms: all.ms + one.ms }), nothing);
}

function lasted(startedAt: number | undefined, endedAt: number | undefined): number {
  return startedAt === undefined || endedAt === undefined ? 0 : Math.max(0, endedAt - startedAt);
}
