/** What a run of reinforcement learning is given, and the same with every default filled in. */

import type { Resume } from "../base/files/claim-folder.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Engine, LossSpec, OptimizerStep, Policy } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Reward } from "../core/grader.ts";
import { defined } from "../core/json-value.ts";
import type { Task } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Credit } from "./credit.ts";
import type { ExtraLoss } from "./extra-loss.ts";
import type { RolloutRun } from "./run-rollout.ts";
import { defaultSchedule, type Schedule } from "./schedule.ts";
import { claimedOptimizer, effectiveLoss } from "./take-step.ts";

export interface RlOptions {
  engine: Engine;
  tokenizer: Tokenizer;
  /** Tasks to draw from, or a function that gives those of a step and round, the same ones whenever it is asked. */
  tasks: readonly Task[] | ((step: number, round: number, count: number) => Promise<readonly Task[]> | readonly Task[]);
  /** Runs one chain with the policy it is given and real tools (`chainRollout`). */
  rollout: (task: Task, run: RolloutRun & { policy: Policy }) => Promise<Trajectory>;
  reward: Reward;
  steps: number;
  /** How the groups of a step are collected. */
  collect?: {
    /** Groups per step and rollouts per group. Default 64 and 8, as in DAPO. */
    groups?: number;
    samples?: number;
    /** Max rounds of refilling before a step continues with the groups it has. Default 4. */
    maxRounds?: number;
    /** Rollouts at the same time. Default 64, or all that are in flight. */
    concurrency?: number;
    /**
     * Max steps between the weights that sampled a token and those that are trained on it. Default 0: every step waits for its own
     * rollouts. More: groups are collected all the time, and a step takes those that are finished.
     */
    maxStaleness?: number;
    /** With `maxStaleness`: groups that are begun and not yet trained on. Default: enough for `maxStaleness` + 1 steps. */
    inFlight?: number;
    /** Max context of chains by step (16k first, 32k from step 40 on, say). Default: the engine's. */
    context?: readonly { fromStep: number; tokens: number }[];
  };
  /** Which part of a rollout is credited, and what its reward is compared with. Default: all of it, with its group. */
  credit?: Credit;
  /** What is learned beside the reward: `guard`, `teacher`, `corrections`. */
  extraLosses?: readonly ExtraLoss[];
  /** Default: DAPO's, `{ name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 10 }`. Rollouts are sampled at its `temperature`. */
  loss?: LossSpec;
  optimizer: OptimizerStep;
  /** `byGroups`: a step that has fewer groups than were asked for moves the weights by as much less. Default false. */
  schedule?: Partial<Schedule> & { byGroups?: boolean };
  /** How a step's rollouts change the weights. */
  updates?: {
    /** Passes over the rollouts of a step. Default 1. */
    passes?: number;
    /** Updates that a pass is cut into; more than one update makes clipping act. Default 2. */
    perPass?: number;
    /** Max padded tokens computed at once; gradients accumulate. */
    microBatchTokens?: number;
    /**
     * The run stops when fresh rollouts' log-probabilities differ by more than this from those of the trainer: they would be
     * trained with ratios that are not theirs. Default 0.01.
     */
    maxRatioGap?: number;
  };
  seed: number;
  /** The run's folder: metrics, rollouts, checkpoints, configuration. */
  folder: string;
  resume?: Resume;
  /** What the run's folder holds beyond metrics and rollouts. */
  keep?: {
    /** Steps between checkpoints. Default 5. */
    checkpointEvery?: number;
    /** Keeps the model after each step of this last share of the run, so that their weights can be averaged. Default 0. */
    models?: number;
    /** Further words for the run's configuration: a run with others is another run. */
    config?: Record<string, unknown>;
  };
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

/** DAPO's clip range; `dualClip` bounds what a bad rollout with a huge ratio can do. */
export const dapoLoss: LossSpec = { name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 10 };

/** The options with their defaults; refused where they do not fit each other or the engine. */
export function rlSetup(options: RlOptions) {
  checkOptions("trainRl", options);
  const { engine, tokenizer, tasks, seed, collect = {}, credit = {}, extraLosses = [], keep = {} } = options;
  for (const extra of extraLosses) extra.check?.(tokenizer);
  const loss = effectiveLoss(options.loss ?? dapoLoss, engine.capabilities);
  claimedOptimizer(options.optimizer, engine);
  const collecting = { groups: 64, samples: 8, maxRounds: 4, maxStaleness: 0, ...defined(collect) };
  const updates = { passes: 1, perPass: 2, maxRatioGap: 0.01, ...defined(options.updates ?? {}) };
  return {
    ...options,
    ...{ collect: { ...collecting, inFlight: groupsInFlight(engine, collecting, credit) }, credit, extraLosses, loss },
    temperature: loss.temperature ?? 1,
    updates,
    schedule: { ...defaultSchedule, decay: "constant" as const, ...options.schedule },
    keep: { checkpointEvery: 5, models: 0, ...defined(keep) },
    tasks: typeof tasks === "function" ? tasks : drawnFrom(tasks, seed),
    dataFingerprint: typeof tasks === "function" ? "" : fingerprint(JSON.stringify(tasks.map(({ id }) => id))),
  };
}

/** A run's options with every default filled in. */
export type RlSetup = ReturnType<typeof rlSetup>;

/** What a run's manifest says: another run is refused in its folder. */
export function configurationOf({ steps, collect, credit, extraLosses, loss, optimizer, updates, ...rest }: RlSetup) {
  const { groups, samples, inFlight, maxStaleness } = collect;
  const { schedule, keep } = rest;
  const claimed = claimedOptimizer(optimizer, rest.engine);
  return {
    ...{ steps, groups, samples, passes: updates.passes, updatesPerPass: updates.perPass, loss, optimizer: claimed },
    baseline: credit.baseline ?? "group",
    ...(credit.from && { partialCredit: true }),
    ...(credit.branchAt && { trees: true }),
    ...(schedule.byGroups && { rateByGroups: true }),
    ...(inFlight > 0 && { maxStaleness, inFlight }),
    ...(extraLosses.length > 0 && {
      extraLosses: extraLosses.map(({ name, coefficient, data }) => ({ name, coefficient, ...(data && { data }) })),
    }),
    ...keep.config,
  };
}

/** Draws a step's tasks at random, each independently of the others. */
function drawnFrom(tasks: readonly Task[], seed: number): Exclude<RlOptions["tasks"], readonly Task[]> {
  if (tasks.length === 0) throw new UsageError("there are no tasks to train on");
  return (step, round, count) => {
    const random = seededRandom(seed, "tasks", step, round);
    return Array.from({ length: count }, () => random.pick(tasks));
  };
}

/** Groups in flight; 0 where every step waits for its own. */
function groupsInFlight(
  engine: Engine,
  { groups, maxStaleness, inFlight }: { groups: number; maxStaleness: number; inFlight?: number },
  { branchAt }: Credit,
): number {
  if (maxStaleness === 0 && inFlight === undefined) return 0;
  if (!Number.isInteger(maxStaleness) || maxStaleness < 1)
    throw new UsageError(
      `maxStaleness is ${maxStaleness}: with groups in flight it is a whole number of steps, 1 or more`,
    );
  if (branchAt) throw new UsageError("branchAt needs steps that wait for their own groups: leave maxStaleness out");
  const wanted = inFlight ?? groups * (maxStaleness + 1);
  if (!Number.isInteger(wanted) || wanted < groups)
    throw new UsageError(
      `inFlight is ${wanted}: a step trains on ${groups} groups, so at least as many must be in flight`,
    );
  if (!engine.capabilities.overlap)
    throw new UsageError(`${engine.name} can't sample while it trains: leave maxStaleness out`);
  return wanted;
}
