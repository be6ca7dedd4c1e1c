/**
 * Groups as trees. The first rollout of a task is run whole; the others continue it from one of its steps on. They share everything
 * before, so what their rewards differ by was decided after it, and that alone is credited.
 */
import { UsageError } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";

/** The chain up to a segment, as if it had been left there. */
export function upTo({ branch: _, ...chain }: Trajectory, end: number): Trajectory {
  const segments = chain.segments.slice(0, end);
  const usage = {
    ...emptyUsage(),
    modelCalls: segments.filter(({ by }) => by === "tool").length,
    completionTokens: segments.reduce((sum, { logprobs }) => sum + (logprobs?.length ?? 0), 0),
  };
  const compactions = chain.compactions?.filter(({ fromSegment }) => fromSegment <= end);
  return { ...chain, segments, compactions, answer: null, usage, violations: [] };
}

/** A continuation of the trunk, marked with the trunk's branch; refused where it began another chain: its credit would be wrong. */
export function branchedFrom(trunk: Trajectory, continuation: Trajectory): Trajectory {
  const branch = trunk.branch!;
  const beginning = ({ segments }: Trajectory) => JSON.stringify(segments.slice(0, branch).map(({ text }) => text));
  if (beginning(continuation) !== beginning(trunk))
    throw new UsageError(
      `rollout ${continuation.id} does not begin with the chain it was to continue: with branchAt, \`rollout\` must pass its \`from\` on`,
    );
  return { ...continuation, branch };
}
