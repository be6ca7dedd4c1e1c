/**
 * Collects the groups of one RL step: n rollouts of each task, rewarded, until enough groups have something to teach.
 * Dynamic sampling: groups whose credited rollouts have equal rewards are dropped and refilled with new tasks, up to a bound. Every
 * finished rollout is written to the journal immediately; a resumed run takes it from there and samples only what is
 * missing.
 */
import { inParallel } from "../base/work/limiter.ts";
import { UsageError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { type Rollout, type RunRolloutOptions, rolloutKey, runRollout } from "./run-rollout.ts";
import { type Collected, type Group, groupSorter, type SorterOptions } from "./sort-groups.ts";

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

/** Samples, rewards, filters and refills until there are enough groups or the bound is reached. */
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
