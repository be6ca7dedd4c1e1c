/**
 * Which groups of rollouts are trained on. A group teaches when the rewards of its rollouts differ, of those that are credited at all
 * (dynamic sampling); of one that does not only a line per rollout is kept, so that its trajectories leave the memory at once.
 * Everything is counted.
 */
import type { Task } from "../core/task.ts";
import { type Credit, isCompared } from "./credit.ts";
import { hasVariance } from "./credit-group.ts";
import type { Rollout, RolloutPlace } from "./run-rollout.ts";

export interface Group {
  task: Task;
  rollouts: (Rollout & { reward: number })[];
}

/**
 * Why a rollout is not trained on: its group taught nothing (`uncredited`: its rewards differ by what is not credited), was one too
 * many or too old, or it could not be judged itself.
 */
export type DropReason = "all-right" | "all-wrong" | "uncredited" | "surplus" | "stale" | "unjudged" | "too-long";

/** A rollout that is not trained on: what is kept of it, so that its trajectory can leave the memory. */
export interface DroppedRollout extends RolloutPlace, Pick<Rollout, "reward"> {
  taskId: string;
  policyVersion: number | undefined;
  reason: DropReason;
}

/** What was collected for a step: groups to train on, and counts over all rollouts. */
export interface Collected {
  groups: Group[];
  dropped: DroppedRollout[];
  rollouts: number;
  meanReward: number;
  /** Share of rollouts graded right; rollouts that could not be judged do not count. */
  success: number;
  /** Groups that finished, and of these the mixed ones: those whose rewards differ. */
  finishedGroups: number;
  mixedGroups: number;
  /** Mean of -log p over the tokens that were sampled: the policy's entropy, in nats a token, as its own rollouts show it. */
  entropy: number;
  /** Rollouts without a verdict, and rollouts left out because they were cut off: neither is in a mean above. */
  unjudged: number;
  tooLong: number;
  droppedAllRight: number;
  droppedAllWrong: number;
  /** Groups whose rewards differ, but not among the rollouts that are credited. */
  droppedUncredited: number;
  /** Groups in which fewer than two rollouts could be judged: nothing is known about them. */
  droppedUnjudged: number;
}

export interface SorterOptions {
  samples: number;
  /** Groups whose rewards are all equal are kept too, for a teacher can judge them too. */
  keepAll?: boolean;
  /** Which part of a rollout is credited: what differs before it teaches nothing. */
  credit?: Credit;
}

export function groupSorter({ samples, keepAll = false, credit = {} }: SorterOptions) {
  const groups = { "all-right": 0, "all-wrong": 0, uncredited: 0, unjudged: 0 };
  const seen = { finished: 0, mixed: 0, surprise: 0, tokens: 0 };
  const nothing = { rollouts: 0, judged: 0, tooLong: 0, right: 0, reward: 0, ...groups, ...seen };
  let counts = { ...nothing };
  let dropped: DroppedRollout[] = [];
  const drop = (group: readonly Rollout[], reason?: DropReason) => {
    for (const rollout of group) dropped.push(...droppedRollout(rollout, reason));
  };
  return {
    /** Rollouts counted since the last `take`. */
    get rollouts(): number {
      return counts.rollouts;
    },
    /** The group to train on, or undefined where it has nothing to teach. */
    add(task: Task, group: readonly Rollout[]): Group | undefined {
      const judged = group.filter(isJudged);
      counts.rollouts += group.length;
      counts.judged += judged.length;
      counts.tooLong += group.filter(({ excluded }) => excluded === "too-long").length;
      counts.right += judged.filter(({ correct }) => correct).length;
      counts.reward += judged.reduce((sum, { reward }) => sum + reward, 0);
      counts.finished++;
      counts.mixed += Number(differ(judged));
      for (const { logprobs = [] } of group.flatMap(({ trajectory }) => trajectory.segments)) {
        counts.tokens += logprobs.length;
        counts.surprise -= logprobs.reduce((sum, logprob) => sum + logprob, 0);
      }
      const compared = judged.filter(({ trajectory }) => isCompared(trajectory, credit));
      if (differ(compared) || (keepAll && judged.length > 0)) return { task, rollouts: judged };
      const equal = judged[0]?.correct ? "all-right" : "all-wrong";
      const reason = judged.length < Math.min(2, samples) ? "unjudged" : differ(judged) ? "uncredited" : equal;
      counts[reason]++;
      drop(group, reason);
      return undefined;
    },
    /** Notes what is not trained on of a group that teaches: all of it for this reason, or those that could not be judged. */
    drop,
    /** What was counted since the last call, with the groups that are trained on; counting starts again. */
    take(groups: Group[]): Collected {
      const { rollouts, judged, tooLong, right, reward } = counts;
      const perJudged = (sum: number) => (judged === 0 ? 0 : sum / judged);
      const collected = {
        groups,
        dropped,
        rollouts,
        meanReward: perJudged(reward),
        success: perJudged(right),
        finishedGroups: counts.finished,
        mixedGroups: counts.mixed,
        entropy: counts.surprise / Math.max(1, counts.tokens),
        unjudged: rollouts - judged - tooLong,
        tooLong,
        droppedAllRight: counts["all-right"],
        droppedAllWrong: counts["all-wrong"],
        droppedUncredited: counts.uncredited,
        droppedUnjudged: counts.unjudged,
      };
      counts = { ...nothing };
      dropped = [];
      return collected;
    },
  };
}

function differ(rollouts: readonly { reward: number }[]): boolean {
  return rollouts.length > 1 && hasVariance(rollouts.map(({ reward }) => reward));
}

/** What is kept of a rollout that is dropped for this reason, or because it could not be judged; nothing of any other. */
function droppedRollout(rollout: Rollout, groupReason: DropReason | undefined): DroppedRollout[] {
  const { step, round, slot, sample, reward, task, trajectory } = rollout;
  const reason = isJudged(rollout) ? groupReason : rollout.excluded === "too-long" ? "too-long" : "unjudged";
  if (!reason) return [];
  return [{ step, round, slot, sample, reward, taskId: task.id, policyVersion: trajectory.policyVersion, reason }];
}

function isJudged(rollout: Rollout): rollout is Rollout & { reward: number } {
  return rollout.reward !== null;
}
