/**
 * Collects the groups of one RL step: n rollouts of each task, rewarded, until enough groups have something to teach.
 * Dynamic sampling: groups whose rewards are all equal are dropped and refilled with new tasks, up to a bound. Every
 * finished rollout is journalled at once; a resumed run takes it from there and samples only what is missing.
 */
import { throwIfYours } from "../core/ending.ts";
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
  /** Why it has no reward, in a word: `unjudged`, `too-long`. */
  excluded?: string;
}

export interface Group {
  task: Task;
  rollouts: (Rollout & { reward: number })[];
}

/** What a rollout is run with. */
export interface RolloutRun {
  seed: number;
  sample: number;
  step: number;
  /** Longest context of the chain in this step. */
  maxContext: number;
  signal?: AbortSignal;
}

export interface CollectOptions {
  step: number;
  seed: number;
  /** Groups wanted, and rollouts in each. */
  groups: number;
  samples: number;
  /** Most rounds of refilling before the step continues with what it has. */
  maxRounds: number;
  /** Tasks of a round; a function of step and round, so that a resumed run asks the same. */
  tasks: (step: number, round: number, count: number) => Promise<readonly Task[]> | readonly Task[];
  rollout: (task: Task, run: RolloutRun) => Promise<Trajectory>;
  reward: Reward;
  /** Longest context of a chain in this step. */
  maxContext: number;
  /** Keep groups in which all rollouts fared the same: a teacher has something to say about them too. */
  keepAll?: boolean;
  concurrency: number;
  journal: Journal<Rollout>;
  /** Rollouts of this step that an earlier process finished. */
  finished: ReadonlyMap<string, Rollout>;
  signal?: AbortSignal;
  onRollout?: (rollout: Rollout) => void;
}

/** Why a rollout is not trained on: its group taught nothing, was one too many, or it could not be judged itself. */
export type DropReason = "all-right" | "all-wrong" | "surplus" | "unjudged" | "too-long";

/** A rollout that is not trained on: what is kept of it, so that its trajectory can leave the memory. */
export interface DroppedRollout extends Pick<Rollout, "step" | "round" | "slot" | "sample" | "reward"> {
  taskId: string;
  policyVersion: number | undefined;
  reason: DropReason;
}

export interface Collected {
  groups: Group[];
  dropped: DroppedRollout[];
  rollouts: number;
  meanReward: number;
  /** Share of rollouts graded right; rollouts that could not be judged do not count. */
  success: number;
  /** Rollouts without a verdict, and rollouts left out because they were cut off: neither is in a mean above. */
  unjudged: number;
  tooLong: number;
  droppedAllRight: number;
  droppedAllWrong: number;
  /** Groups in which fewer than two rollouts could be judged: nothing is known about them. */
  droppedUnjudged: number;
}

/** The name of a rollout within its run. */
export function rolloutKey(rollout: Pick<Rollout, "step" | "round" | "slot" | "sample">): string {
  return `${rollout.step}/${rollout.round}/${rollout.slot}/${rollout.sample}`;
}

/** Samples, rewards, filters and refills until there are enough groups or the bound is reached. */
export async function collectGroups(options: CollectOptions): Promise<Collected> {
  const { step, groups: wanted, samples } = options;
  const kept: Group[] = [];
  const dropped: Collected["dropped"] = [];
  const drops = { right: 0, wrong: 0, unjudged: 0 };
  const counts = { rollouts: 0, judged: 0, tooLong: 0, right: 0, reward: 0 };
  for (let round = 0; round < options.maxRounds && kept.length < wanted; round++) {
    // The share of useful groups so far says how many tasks the next round needs.
    const share = round === 0 ? 1 : Math.max(0.1, kept.length / Math.max(1, counts.rollouts / samples));
    const count = round === 0 ? wanted : Math.min(wanted * 2, Math.ceil((wanted - kept.length) / share));
    const tasks = await options.tasks(step, round, count);
    const jobs = tasks.flatMap((task, slot) =>
      Array.from({ length: samples }, (_, sample) => ({ task, slot, sample })),
    );
    const rollouts = await inParallel(jobs, options.concurrency, (job) => oneRollout(options, round, job));
    for (const [slot, task] of tasks.entries()) {
      const group = rollouts.filter((item) => item.slot === slot);
      const judged = group.filter(isJudged);
      counts.rollouts += group.length;
      counts.judged += judged.length;
      counts.tooLong += group.filter(({ excluded }) => excluded === "too-long").length;
      counts.right += judged.filter(({ correct }) => correct).length;
      counts.reward += judged.reduce((sum, { reward }) => sum + reward, 0);
      const drop = (reason?: DropReason) =>
        dropped.push(...group.flatMap((rollout) => droppedRollout(rollout, reason)));
      const teaches = judged.length > 1 && hasVariance(judged.map(({ reward }) => reward));
      if (teaches || (options.keepAll && judged.length > 0)) {
        if (kept.length >= wanted) drop("surplus");
        else {
          kept.push({ task, rollouts: judged });
          drop();
        }
      } else if (judged.length < Math.min(2, samples)) {
        drops.unjudged++;
        drop("unjudged");
      } else if (judged[0]?.correct) {
        drops.right++;
        drop("all-right");
      } else {
        drops.wrong++;
        drop("all-wrong");
      }
    }
  }
  const perJudged = (sum: number) => (counts.judged === 0 ? 0 : sum / counts.judged);
  return {
    groups: kept,
    dropped,
    rollouts: counts.rollouts,
    meanReward: perJudged(counts.reward),
    success: perJudged(counts.right),
    unjudged: counts.rollouts - counts.judged - counts.tooLong,
    tooLong: counts.tooLong,
    droppedAllRight: drops.right,
    droppedAllWrong: drops.wrong,
    droppedUnjudged: drops.unjudged,
  };
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
  const trajectory = await options.rollout(job.task, {
    seed,
    sample: job.sample,
    step,
    maxContext: options.maxContext,
    signal,
  });
  signal?.throwIfAborted();
  throwIfYours(trajectory.ending);
  const verdict = await options.reward(trajectory, job.task, signal).catch((error: unknown) => {
    if (isAbort(error)) throw error;
    const reason = `the reward failed: ${messageOf(error)}`;
    return { reward: null, correct: null, score: 0, reason, excluded: "unjudged" };
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
