/**
 * Which part of a rollout its reward says something about. Credit and the choice of groups ask here both, so that a group that is
 * trained on has something to teach by the part that is credited.
 */
import type { Trajectory } from "../core/trajectory.ts";

/** The segment from which on a rollout is credited; its length where nothing is. */
export type CreditFrom = (trajectory: Trajectory) => number;

/** The first credited segment: a branch of its tree, what `creditFrom` says, or the beginning. */
export function creditStart(trajectory: Trajectory, creditFrom: CreditFrom | undefined): number {
  return trajectory.branch ?? creditFrom?.(trajectory) ?? 0;
}

/** Whether a rollout is compared with others of its group: one without a credited token says nothing about them. */
export function isCompared(trajectory: Trajectory, creditFrom: CreditFrom | undefined): boolean {
  const start = creditStart(trajectory, creditFrom);
  return start === 0 || trajectory.segments.some(({ logprobs }, at) => at >= start && (logprobs?.length ?? 0) > 0);
}
