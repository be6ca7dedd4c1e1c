/**
 * Credit: which part of a rollout its reward speaks about, and what that reward is compared with. The choice of groups and the
 * advantages both ask here, so a group that is trained on has something to teach by the part that is credited. Values of this
 * file are spread into one: `credit: { ...fromFirstFault(), ...sharedPrefix(), baseline: "least-variance" }`.
 */
import type { Trajectory } from "../core/trajectory.ts";

export interface Credit {
  /** The segment from which on a rollout is credited; its length where nothing is. Default: all of it. */
  from?: (trajectory: Trajectory) => number;
  /**
   * Makes trees of groups: the first rollout is run whole, the others continue it from this segment on (`rollout` is given it as
   * `from`), and all are credited from there. Where it is null, the group's rollouts are run whole. Default: no trees.
   */
  branchAt?: (trajectory: Trajectory) => number | null;
  /** What a reward is compared with. Default `group`. */
  baseline?: "group" | "least-variance";
  /** Weight of the reward in the advantage. Default 1; with 0 the extra losses alone decide. */
  rewardWeight?: number;
}

/**
 * Credit for what was written after the first fault of a tool alone. Where tools fail, chance (which of a chain's calls fail) decides
 * more than what the chain wrote before; what it does after the first fault is what can be learned. Crediting only that
 * learns several times faster and leaves alone what the model does where nothing fails.
 */
export function fromFirstFault(): Credit {
  return { from: firstFault };
}

/**
 * Groups that share a chain up to a segment, by default up to what follows its first fault: what their rewards differ by was decided
 * after it, and that alone is credited.
 */
export function sharedPrefix(branchAt: NonNullable<Credit["branchAt"]> = afterFirstFault): Credit {
  return { branchAt };
}

/** Index of the observation of the first fault; the length of the chain where nothing failed. */
function firstFault({ segments }: Trajectory): number {
  const at = segments.findIndex(({ call }) => call?.fault !== undefined);
  return at === -1 ? segments.length : at;
}

/** What follows the observation of the first fault; null where nothing failed, or nothing was written after it. */
function afterFirstFault(trajectory: Trajectory): number | null {
  const at = firstFault(trajectory) + 1;
  return at < trajectory.segments.length ? at : null;
}

/** The first credited segment: the branch of a tree, what `from` says, or the beginning. */
export function creditStart(trajectory: Trajectory, { from }: Credit): number {
  return trajectory.branch ?? from?.(trajectory) ?? 0;
}

/** Whether a rollout is compared with others of its group: one without a credited token says nothing about them. */
export function isCompared(trajectory: Trajectory, credit: Credit): boolean {
  const start = creditStart(trajectory, credit);
  return start === 0 || trajectory.segments.some(({ logprobs }, at) => at >= start && (logprobs?.length ?? 0) > 0);
}
