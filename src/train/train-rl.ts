/**
 * Agentic RL with DAPO, over the Engine interface and the chain runtime. One step:
 *   1. collect groups of rollouts with live tools; groups that teach nothing are dropped and refilled;
 *   2. advantage = reward against the group's mean, in its standard deviations; every token the model wrote carries it,
 *      observations carry 0;
 *   3. several updates on these rollouts with the clipped loss (0.8 to 1.28 by default, dual clip for negative
 *      advantages), averaged over tokens, not over rollouts; no KL term.
 * Ids and log-probabilities are used as sampled. Rollouts are journalled as they finish and a checkpoint names the steps
 * it contains, so a killed run loses no rollout and trains on none twice.
 */

import { join } from "node:path";
import type { Resume } from "../base/files/claim-folder.ts";
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import type { Corrector } from "../core/corrector.ts";
import type { Engine, LossSpec, OptimizerStep, Policy } from "../core/engine.ts";
import { StoppedError, UsageError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import type { Reward } from "../core/reward.ts";
import type { Task } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Baseline } from "./advantages.ts";
import type { CollectOptions } from "./collect-groups.ts";
import type { RolloutLine } from "./credit-group.ts";
import type { CreditFrom } from "./credit-start.ts";
import type { ExampleSource } from "./example-source.ts";
import type { PoolState } from "./group-pool.ts";
import { poolSource, type RolloutSource, stepSource } from "./rollout-source.ts";
import { continueIt, openRunFolder, type RunFolder } from "./run-folder.ts";
import type { RolloutRun } from "./run-rollout.ts";
import {
  type ContextStage,
  contextAt,
  defaultSchedule,
  type Schedule,
  scheduleFactor,
  trainingParts,
} from "./schedule.ts";
import { checkOptimizer, costOf, effectiveLoss } from "./take-step.ts";
import { assertSameVocabulary, type TokenTeacher } from "./token-teacher.ts";
import type { BranchAt } from "./tree-groups.ts";
import { updatePolicy } from "./update-policy.ts";

export interface RlOptions {
  engine: Engine;
  tokenizer: Tokenizer;
  folder: string;
  resume?: Resume;
  seed: number;
  steps: number;
  /** Tasks of a step; a function of step and round. */
  tasks: CollectOptions["tasks"];
  /** Runs one chain with the policy it is given and real tools. */
  rollout: (task: Task, run: RolloutRun & { policy: Policy }) => Promise<Trajectory>;
  reward: Reward;
  /** Groups per step and rollouts per group (DAPO: 64 x 8). */
  groups?: number;
  samples?: number;
  maxRounds?: number;
  concurrency?: number;
  /** Passes over the rollouts of a step, each cut into this many updates; more than one update makes clipping act. */
  epochs?: number;
  updatesPerEpoch?: number;
  loss?: LossSpec;
  /** Temperature that rollouts are sampled with; the loss uses the same. Default 1. */
  temperature?: number;
  /**
   * The run stops when fresh rollouts' log-probabilities differ by more than this from those of the trainer: they would be
   * trained with ratios that are not theirs. Default 0.01.
   */
  maxRatioGap?: number;
  /** What a rollout's reward is compared with; `group` unless said. */
  baseline?: Baseline;
  /** From which segment on a rollout is credited with its advantage; all of it unless said. */
  creditFrom?: CreditFrom;
  /**
   * Groups are trees: the first rollout is run whole, the others continue it from this segment on (`rollout` is given it as `from`),
   * and all are credited from there. Where it says null, the group's rollouts are run whole.
   */
  branchAt?: BranchAt;
  /** How much the reward counts in the advantage; 1 unless said. With 0 the teachers alone decide. */
  rewardWeight?: number;
  /**
   * Models that score the student's tokens: each token's advantage gains `coefficient * (log p_teacher - log p_student)`. A frozen
   * copy of the starting model as teacher is the usual KL penalty; a better model is on-policy distillation.
   */
  teachers?: readonly { teacher: TokenTeacher; coefficient: number }[];
  /**
   * Corrects failed rollouts; the corrected step is imitated in the same update, with this weight beside the policy
   * loss.
   */
  corrections?: { corrector: Corrector; coefficient: number; limit?: number };
  /**
   * What must not be lost while something else is trained: a batch of these examples (usually demonstrations) is
   * imitated in every update, with this weight beside the policy loss.
   */
  guard?: { source: ExampleSource; coefficient: number };
  optimizer: OptimizerStep;
  schedule?: Partial<Schedule>;
  /** A step that has fewer groups than were asked for moves the weights by as much less; false by default. */
  rateFromGroups?: boolean;
  microBatchTokens?: number;
  /** Longest context of chains by step (16k first, 32k from step 40 on, say); the engine's own unless said. */
  context?: readonly ContextStage[];
  /** Keeps the model after each step of this last share of the run, so that their weights can be averaged. */
  keepModels?: number;
  /**
   * Steps between the weights that sampled a token and those that are trained on it, at most. 0, the default: every step waits for
   * its own rollouts. More: groups are collected all the time, and a step takes those that are finished.
   */
  maxStaleness?: number;
  /** With `maxStaleness`: groups that are begun and not yet trained on; by default enough for `maxStaleness` + 1 steps. */
  inFlight?: number;
  checkpointEvery?: number;
  evaluation?: { every: number; run: (step: number, policy: Policy) => Promise<Record<string, number>> };
  /** Names the task set in the run's description. */
  dataFingerprint?: string;
  config?: Record<string, unknown>;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

export interface RlResult {
  steps: number;
  rollouts: number;
  /** Changes of the weights; 0 where no group had anything to learn from. */
  updates: number;
  /** Mean reward of the first and of the last fifth of the steps. */
  firstReward: number;
  lastReward: number;
  figures: Record<string, number>;
  /** Folders of the models that were kept, oldest first. */
  models: string[];
}

/** DAPO's clip range; `dualClip` bounds what a bad rollout with a huge ratio can do. */
export const dapoLoss: LossSpec = { name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 10 };

const defaultGroups = 64;

/** What a run must remember beside the engine's state. */
interface Memory {
  rollouts: number;
  /** Absent in checkpoints of earlier versions. */
  updates?: number;
  rewards: number[]; // [step]
  figures: Record<string, number>;
  /** Groups in flight, where steps do not wait for their own. */
  pool?: PoolState;
}

const trainRlNames = optionNames<RlOptions>()(
  "engine tokenizer folder resume seed steps tasks rollout reward groups samples maxRounds concurrency epochs updatesPerEpoch loss temperature maxRatioGap baseline creditFrom branchAt rewardWeight teachers corrections guard optimizer schedule rateFromGroups microBatchTokens context keepModels maxStaleness inFlight checkpointEvery evaluation dataFingerprint config signal onProgress",
);

/** Runs the steps, or stops cleanly on an abort with a checkpoint to resume from. */
export async function trainRl(options: RlOptions): Promise<RlResult> {
  checkOptions("trainRl", options, trainRlNames, {
    ...trainingParts,
    loss: optionNames<LossSpec>()("name clipLow clipHigh dualClip temperature"),
    corrections: optionNames<NonNullable<RlOptions["corrections"]>>()("corrector coefficient limit"),
    guard: optionNames<NonNullable<RlOptions["guard"]>>()("source coefficient"),
    evaluation: optionNames<NonNullable<RlOptions["evaluation"]>>()("every run"),
  });
  const { engine, seed, steps, temperature = 1 } = options;
  const settings = {
    steps,
    groups: options.groups ?? defaultGroups,
    samples: options.samples ?? 8,
    epochs: options.epochs ?? 1,
  };
  for (const { teacher } of options.teachers ?? []) assertSameVocabulary(options.tokenizer, teacher.tokenizer);
  const loss = effectiveLoss({ ...(options.loss ?? dapoLoss), temperature }, engine.capabilities);
  checkOptimizer(options.optimizer, engine);
  const { maxStaleness = 0 } = options;
  const inFlight = groupsInFlight(options, settings.groups);
  const folder = await openRunFolder<Memory>(
    options.folder,
    {
      kind: "rl",
      config: {
        ...settings,
        updatesPerEpoch: options.updatesPerEpoch ?? 2,
        loss,
        baseline: options.baseline ?? "group",
        optimizer: options.optimizer,
        ...(options.rateFromGroups && { rateFromGroups: true }),
        ...(options.branchAt && { trees: true }),
        ...(inFlight > 0 && { maxStaleness, inFlight }),
        ...options.config,
      },
      seed,
      dataFingerprint: options.dataFingerprint ?? "",
    },
    options.resume,
  );
  try {
    if (folder.checkpoint) await engine.loadState(folder.checkpoint.state);
    const collecting = { ...options, ...settings, updatesPerEpoch: options.updatesPerEpoch ?? 2 };
    const source =
      inFlight === 0
        ? await stepSource(collecting, folder.checkpoint?.step ?? 0)
        : await poolSource({ ...collecting, maxStaleness, inFlight }, folder.checkpoint);
    try {
      return await loop({ ...options, loss }, folder, source);
    } finally {
      await source.close();
    }
  } finally {
    await folder.close();
  }
}

/** Groups in flight; 0 where every step waits for its own. */
function groupsInFlight({ maxStaleness = 0, inFlight, engine, branchAt }: RlOptions, groups: number): number {
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

async function loop(
  options: RlOptions & { loss: LossSpec },
  folder: RunFolder<Memory>,
  source: RolloutSource,
): Promise<RlResult> {
  const { engine, steps, groups: wanted = defaultGroups, signal } = options;
  const schedule: Schedule = { ...defaultSchedule, decay: "constant", ...options.schedule };
  const memory: Memory = folder.checkpoint?.memory ?? { rollouts: 0, updates: 0, rewards: [], figures: {} };
  const rolloutFigures = await folder.stepFile<RolloutLine>("rollout-figures.jsonl");
  const keptSteps = lastSteps(steps, options.keepModels ?? 0);
  const modelOf = (step: number) => join(options.folder, "models", `step-${String(step).padStart(5, "0")}`);
  let { version } = await engine.publish();
  const save = (step: number) => folder.save(step, engine, { ...memory, pool: source.state?.() });
  for (let step = folder.checkpoint?.step ?? 0; step < steps; ) {
    const startedAt = performance.now();
    const collected = await source.collect(step).catch(async (error: unknown) => {
      // Steps whose groups came from a pool can't be done again as they were.
      if (signal?.aborted && source.state && step > (folder.checkpoint?.step ?? 0)) await save(step);
      throw error;
    });
    const collectMs = performance.now() - startedAt;
    // What few groups say is mostly chance; the optimizer would follow it as far as it follows many.
    const byGroups = options.rateFromGroups ? Math.min(1, collected.groups.length / wanted) : 1;
    const update = await updatePolicy(options, collected, {
      step,
      version,
      factor: scheduleFactor(schedule, step, steps) * byGroups,
      maxContext: contextAt(options.context, step, engine.capabilities.maxContext),
    });
    version += update.figures["updates"] ?? 0;
    step++;
    memory.rollouts += collected.rollouts;
    memory.updates = (memory.updates ?? 1) + (update.figures["updates"] ?? 0);
    memory.rewards.push(collected.meanReward);
    const { groups, dropped: _, ...counts } = collected;
    const trainMs = performance.now() - startedAt - collectMs;
    const spent = engine.usage?.() ?? {};
    await folder.log({ step, ...counts, keptGroups: groups.length, ...update.figures, collectMs, trainMs, ...spent });
    for (const line of update.rollouts) await rolloutFigures.append({ ...line, step });
    options.onProgress?.({
      stage: "rl",
      done: step,
      total: steps,
      figures: {
        reward: collected.meanReward,
        curve: memory.rewards,
        kept: groups.length,
        rollouts: memory.rollouts,
        ...costOf(engine),
      },
    });
    if (options.evaluation && (step % options.evaluation.every === 0 || step === steps)) {
      memory.figures = await options.evaluation.run(step, await engine.publish());
      await folder.log({ step, ...memory.figures });
    }
    if (keptSteps.includes(step)) await engine.saveModel(modelOf(step));
    if (step % (options.checkpointEvery ?? 5) === 0 || step === steps || signal?.aborted) await save(step);
    if (signal?.aborted)
      throw new StoppedError(`stopped after step ${step} of ${options.folder}`, { hint: continueIt });
  }
  await folder.finish(steps);
  const fifth = Math.max(1, Math.floor(memory.rewards.length / 5));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return {
    steps,
    rollouts: memory.rollouts,
    updates: memory.updates ?? 1,
    firstReward: mean(memory.rewards.slice(0, fifth)),
    lastReward: mean(memory.rewards.slice(-fifth)),
    figures: memory.figures,
    models: keptSteps.map(modelOf),
  };
}

/** The numbers of the steps that make up the last share of a run: at least one of any share. */
function lastSteps(steps: number, share: number): number[] {
  const count = share > 0 ? Math.max(1, Math.round(steps * share)) : 0;
  return Array.from({ length: count }, (_, at) => steps - count + at + 1);
}
