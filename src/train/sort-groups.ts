/**
 * Which groups of rollouts are trained on. A group teaches when the rewards of its rollouts differ, of those that are credited at all
 * (dynamic sampling); of one that does not only a line per rollout is kept, so that its trajectories leave the memory at once.
 * Everything is counted.
 */
import { inParallel } from "../base/work/limiter.ts";
import { UsageError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { type Credit, isCompared } from "./credit.ts";
import { hasVariance } from "./credit-group.ts";
import { type Rollout, type RolloutPlace, type RunRolloutOptions, rolloutKey, runRollout } from "./run-rollout.ts";

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

export interface CollectOptions extends RunRolloutOptions, SorterOptions {
  step: number;
  /** Groups wanted, of `samples` rollouts each. */
  groups: number;
  /** Most rounds of refilling before the step continues with what it has. */
  maxRounds: number;
  /** Tasks of a round; a function of step and round, so that a resumed run asks the same. */
  tasks: (step: number, round: number, count: number) => Promise<readonly Task[]> | readonly Task[];
  concurrency: number;
  journal: Journal<Rollout>;
  /** Rollouts of this step that an earlier process finished. */
  finished: ReadonlyMap<string, Rollout>;
}

/** Dynamic sampling: samples, rewards, filters and refills until there are enough groups or the bound is reached. */
export async function collectGroups(options: CollectOptions): Promise<Collected> {
  const { step, groups: wanted, samples } = options;
  const kept: Group[] = [];
  const sorter = groupSorter(options);
  for (let round = 0; round < options.maxRounds && kept.length < wanted; round++) {
    // The share of useful groups so far says how many tasks the next round needs.
    const share = round === 0 ? 1 : Math.max(0.1, kept.length / Math.max(1, sorter.rollouts / samples));
    const count = round === 0 ? wanted : Math.min(wanted * 2, Math.ceil((wanted - kept.length) / share));
    const tasks = await options.tasks(step, round, count);
    const rollouts = await rollOut(options, round, tasks);
    for (const [slot, task] of tasks.entries()) {
      const rolled = rollouts.filter((item) => item.slot === slot);
      const group = sorter.add(task, rolled);
      if (!group) continue;
      const surplus = kept.length >= wanted;
      sorter.drop(rolled, surplus ? "surplus" : undefined);
      if (!surplus) kept.push(group);
    }
  }
  return sorter.take(kept);
}

/** Every rollout of a round; of trees, the first of each task before all others. */
async function rollOut(options: CollectOptions, round: number, tasks: readonly Task[]): Promise<Rollout[]> {
  const { samples, concurrency, credit: { branchAt } = {} } = options;
  const jobs = tasks.flatMap((task, slot) => Array.from({ length: samples }, (_, sample) => ({ task, slot, sample })));
  if (!branchAt) return inParallel(jobs, concurrency, (job) => oneRollout(options, round, job));
  const first = jobs.filter(({ sample }) => sample === 0);
  const trunks = await inParallel(first, concurrency, async (job) => {
    const rollout = await oneRollout(options, round, job);
    const branch = branchAt(rollout.trajectory);
    return branch === null ? rollout : { ...rollout, trajectory: { ...rollout.trajectory, branch } };
  });
  const others = jobs.filter(({ sample }) => sample > 0);
  const branches = await inParallel(others, concurrency, (job) =>
    oneRollout(options, round, job, trunks[job.slot]!.trajectory),
  );
  return [...trunks, ...branches];
}

async function oneRollout(
  options: CollectOptions,
  round: number,
  { task, slot, sample }: { task: Task; slot: number; sample: number },
  trunk?: Trajectory,
): Promise<Rollout> {
  const place = { step: options.step, round, slot, sample };
  const known = options.finished.get(rolloutKey(place));
  if (known) return known;
  const branch = trunk?.branch;
  const rolled = await runRollout(task, place, options, branch === undefined ? undefined : upTo(trunk!, branch));
  const rollout = branch === undefined ? rolled : { ...rolled, trajectory: branchedFrom(trunk!, rolled.trajectory) };
  await options.journal.append(rollout);
  return rollout;
}

/**
 * Groups as trees. The first rollout of a task is run whole; the others continue it from one of its steps on. They share everything
 * before, so what their rewards differ by was decided after it, and that alone is credited.
 */
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
