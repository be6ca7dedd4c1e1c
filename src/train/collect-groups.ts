/**
 * Collects the groups of one RL step: n rollouts of each task, rewarded, until enough groups have something to teach.
 * Dynamic sampling: groups whose rewards are all equal are dropped and refilled with new tasks, up to a bound. Every
 * finished rollout is journalled at once; a resumed run takes it from there and samples only what is missing.
 */
import { isAbort, messageOf } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import { inParallel } from "../core/limiter.ts";
import { derivedSeed } from "../core/random.ts";
import type { Reward } from "../core/reward.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { hasVariance } from "./advantages.ts";

/** One finished rollout, as journalled. */
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
}

export interface Group {
  task: Task;
  rollouts: (Rollout & { reward: number })[];
}

export interface CollectOptions {
  step: number;
  seed: number;
  /** Groups wanted, and rollouts in each. */
  groups: number;
  samples: number;
  /** Most rounds of refilling before the step goes on with what it has. */
  maxRounds: number;
  /** Tasks of a round; a function of step and round, so that a resumed run asks the same. */
  tasks: (step: number, round: number, count: number) => Promise<readonly Task[]> | readonly Task[];
  rollout: (task: Task, options: { seed: number; sample: number; signal?: AbortSignal }) => Promise<Trajectory>;
  reward: Reward;
  concurrency: number;
  journal: Journal<Rollout>;
  /** Rollouts of this step that an earlier process finished. */
  finished: ReadonlyMap<string, Rollout>;
  signal?: AbortSignal;
  onRollout?: (rollout: Rollout) => void;
}

export interface Collected {
  groups: Group[];
  rollouts: number;
  meanReward: number;
  /** Share of rollouts graded right; rollouts that could not be judged do not count. */
  success: number;
  unjudged: number;
  droppedAllRight: number;
  droppedAllWrong: number;
}

/** The name of a rollout within its run. */
export function rolloutKey(rollout: Pick<Rollout, "step" | "round" | "slot" | "sample">): string {
  return `${rollout.step}/${rollout.round}/${rollout.slot}/${rollout.sample}`;
}

/** Samples, rewards, filters and refills until there are enough groups or the bound is reached. */
export async function collectGroups(options: CollectOptions): Promise<Collected> {
  const { step, groups: wanted, samples } = options;
  const kept: Group[] = [];
  const all: Rollout[] = [];
  const dropped = { right: 0, wrong: 0 };
  for (let round = 0; round < options.maxRounds && kept.length < wanted; round++) {
    // The share of useful groups so far says how many tasks the next round needs.
    const share = round === 0 ? 1 : Math.max(0.1, kept.length / Math.max(1, all.length / samples));
    const count = round === 0 ? wanted : Math.min(wanted * 2, Math.ceil((wanted - kept.length) / share));
    const tasks = await options.tasks(step, round, count);
    const jobs = tasks.flatMap((task, slot) =>
      Array.from({ length: samples }, (_, sample) => ({ task, slot, sample })),
    );
    const rollouts = await inParallel(jobs, options.concurrency, (job) => oneRollout(options, round, job));
    all.push(...rollouts);
    for (const [slot, task] of tasks.entries()) {
      const judged = rollouts.filter(
        (item): item is Rollout & { reward: number } => item.slot === slot && item.reward !== null,
      );
      const rewards = judged.map((item) => item.reward);
      if (judged.length > 1 && hasVariance(rewards)) {
        if (kept.length < wanted) kept.push({ task, rollouts: judged });
      } else if (judged[0]?.correct) dropped.right++;
      else dropped.wrong++;
    }
  }
  const judged = all.filter((item) => item.reward !== null);
  return {
    groups: kept,
    rollouts: all.length,
    meanReward: mean(judged.map((item) => item.reward ?? 0)),
    success: mean(judged.map((item) => (item.correct ? 1 : 0))),
    unjudged: all.length - judged.length,
    droppedAllRight: dropped.right,
    droppedAllWrong: dropped.wrong,
  };
}

async function oneRollout(
  options: CollectOptions,
  round: number,
  job: { task: Task; slot: number; sample: number },
): Promise<Rollout> {
  const { step, signal } = options;
  const place = { step, round, slot: job.slot, sample: job.sample };
  const known = options.finished.get(rolloutKey(place));
  if (known) return known;
  const seed = derivedSeed(options.seed, "rollout", step, round, job.slot, job.sample);
  const trajectory = await options.rollout(job.task, { seed, sample: job.sample, signal });
  signal?.throwIfAborted();
  const verdict = await options.reward(trajectory, job.task, signal).catch((error: unknown) => {
    if (isAbort(error)) throw error;
    return { reward: null, correct: null, reason: `the reward failed: ${messageOf(error)}` };
  });
  const rollout: Rollout = {
    ...place,
    task: job.task,
    trajectory: { ...trajectory, reward: verdict.reward ?? undefined },
    ...verdict,
  };
  await options.journal.append(rollout);
  options.onRollout?.(rollout);
  return rollout;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
