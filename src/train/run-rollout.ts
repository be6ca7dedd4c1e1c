/** One rollout of a reinforcement run: a chain with the policy it is given, and its reward. */

import { derivedSeed } from "../base/work/random.ts";
import { throwIfUserMustFix } from "../core/ending.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { Reward, RewardResult } from "../core/grader.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";

export interface Rollout {
  step: number;
  /** Which refill of the step, which task of it, which sample of the task: together they name the rollout. */
  round: number;
  slot: number;
  sample: number;
  task: Task;
  trajectory: Trajectory;
  reward: number | null;
  correct: boolean | null;
  reason: string;
  /** Why it has no reward, in a word: `unjudged`, `too-long`. */
  excluded?: string;
}

/** Where a rollout belongs. */
export type RolloutPlace = Pick<Rollout, "step" | "round" | "slot" | "sample">;

export interface RolloutRun {
  seed: number;
  sample: number;
  step: number;
  /** Longest context of the chain in this step. */
  maxContext: number;
  /** The chain to continue, where the group is a tree. */
  from?: Trajectory;
  signal?: AbortSignal;
}

export interface RunRolloutOptions {
  /** Seed of the run; the rollout's own follows from its place. */
  seed: number;
  maxContext: number;
  rollout: (task: Task, run: RolloutRun) => Promise<Trajectory>;
  reward: Reward;
  signal?: AbortSignal;
}

/** The name of a rollout within its run. */
export function rolloutKey({ step, round, slot, sample }: RolloutPlace): string {
  return `${step}/${round}/${slot}/${sample}`;
}

/** Runs and rewards one; a reward that fails leaves it unjudged, a wrong key or a missing tool stops the run. */
export async function runRollout(
  task: Task,
  place: RolloutPlace,
  options: RunRolloutOptions,
  from?: Trajectory,
): Promise<Rollout> {
  const { signal, maxContext } = options;
  const { step, round, slot, sample } = place;
  const seed = derivedSeed(options.seed, "rollout", step, round, slot, sample);
  const trajectory = await options.rollout(task, { seed, sample, step, maxContext, from, signal });
  signal?.throwIfAborted();
  throwIfUserMustFix(trajectory.ending);
  const verdict = await judged(options.reward, trajectory, task, signal);
  return { ...place, task, trajectory: { ...trajectory, reward: verdict.reward ?? undefined }, ...verdict };
}

/** What a chain earned; a reward that fails leaves it unjudged. */
export async function judged(
  reward: Reward,
  trajectory: Trajectory,
  task: Task,
  signal?: AbortSignal,
): Promise<RewardResult> {
  try {
    return await reward(trajectory, task, signal);
  } catch (error) {
    if (isAbort(error)) throw error;
    const reason = `the reward failed: ${messageOf(error)}`;
    return { reward: null, correct: null, score: 0, reason, excluded: "unjudged" };
  }
}
