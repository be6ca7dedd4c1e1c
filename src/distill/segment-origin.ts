/**
 * Where each segment of a distilled chain came from, and what became of every step of the team: it is shown by a
 * segment, or left out with a reason. So every step is accounted for.
 */
import type { TeamRun, TeamStep } from "../core/team-run.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";

/** Segments with the agent that made their step, and their time since the team began. */
export function withOrigin(run: TeamRun, segments: readonly Segment[]): Segment[] {
  const steps = new Map(run.steps.map((step) => [step.id, step]));
  const began = run.steps.reduce(
    (first, { startedAt = first }) => Math.min(first, startedAt),
    Number.POSITIVE_INFINITY,
  );
  return segments.map((segment) => {
    // A chain that ends without any step of its own (an answer given from outside) hangs on the last step.
    const step = steps.get(segment.from?.step ?? "") ?? run.steps.at(-1);
    if (!step) return segment;
    // An observation has the time of its call, what a model wrote the time of its step.
    const { startedAt, endedAt } = segment.by === "tool" ? segment : step;
    const since = (time: number | undefined, name: string) => (time === undefined ? {} : { [name]: time - began });
    const times = { ...since(startedAt, "startedAt"), ...since(endedAt, "endedAt") };
    return { ...segment, ...times, from: { agent: step.agentId, step: step.id } };
  });
}

/** The steps that no segment shows, each with the reason. */
export function leftOutSteps(
  run: TeamRun,
  segments: readonly Segment[],
  unshown: ReadonlyMap<string, string>,
): NonNullable<Trajectory["leftOut"]> {
  const shown = new Set(segments.map((segment) => segment.from?.step));
  const missing = run.steps.filter((step) => !shown.has(step.id));
  return missing.map((step) => ({
    agent: step.agentId,
    step: step.id,
    reason: ownReason(step) ?? unshown.get(step.id) ?? otherReason(run, step),
  }));
}

/** Why a step has nothing to show, whatever the layout. */
function ownReason(step: TeamStep): string | undefined {
  if (step.error !== undefined) return "the model call failed";
  if (step.text.trim() === "" && !step.reasoning?.trim() && step.toolCalls.length === 0) return "an empty reply";
  return undefined;
}

function otherReason(run: TeamRun, step: TeamStep): string {
  const activates = (id: string) => run.agents.some((agent) => agent.parentCallId === id);
  if (step.toolCalls.some((call) => call.delegatesTo !== undefined || activates(call.id))) {
    return "a delegation: what the agent did is shown";
  }
  if (step.toolCalls.length > 0) return "a call that only moved control";
  if (step.move === "review" || step.move === "verify") return "asked again: a later reply took its place";
  return "later steps say what it says";
}
