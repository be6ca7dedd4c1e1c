/**
 * Agentic RL with DAPO, over the Engine interface and the chain runtime. One step:
 *   1. collect groups of rollouts with live tools; groups in which all rollouts fared the same are dropped and refilled;
 *   2. advantage = reward against the group's mean, in its standard deviations; every token the model wrote carries it,
 *      observations carry 0;
 *   3. several updates on these rollouts with the clipped loss (0.8 to 1.28 by default, dual clip for negative
 *      advantages), averaged over tokens, not over rollouts; no KL term.
 * Ids and log-probabilities are used as sampled. Rollouts are journalled as they finish and a checkpoint names the steps
 * it contains, so a killed run loses no rollout and trains on none twice.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jsonlJournal } from "../base/files/open-jsonl.ts";
import { sparkline } from "../cli/plot-metrics.ts";
import type { Engine, LossSpec, OptimizerStep } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import type { Example } from "../core/example.ts";
import { seededRandom } from "../core/random.ts";
import type { Reward } from "../core/reward.ts";
import { readTask } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { readTrajectory } from "../core/trajectory.ts";
import { rolloutToExample } from "../dataset/trajectory-to-example.ts";
import { type Baseline, gradientWeight, groupAdvantages } from "./advantages.ts";
import {
  type Collected,
  type CollectOptions,
  collectGroups,
  type Group,
  type Rollout,
  rolloutKey,
} from "./collect-groups.ts";
import { tokenMean } from "./normalise.ts";
import { openRunFolder, type RunFolder } from "./run-folder.ts";
import { defaultSchedule, type Schedule, scheduleFactor } from "./schedule.ts";
import { microBatches } from "./train-sft.ts";

export interface RlOptions {
  engine: Engine;
  tokenizer: Tokenizer;
  folder: string;
  resume?: boolean;
  seed: number;
  steps: number;
  /** Tasks of a step; a function of step and round. */
  tasks: CollectOptions["tasks"];
  /** Runs one chain with the current policy and real tools. */
  rollout: CollectOptions["rollout"];
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
  /** What a rollout's reward is compared with; `group` unless said. */
  baseline?: Baseline;
  /** Pulls the policy towards a reference: each token's advantage loses `coefficient * (log p_old - log p_reference)`. */
  kl?: { coefficient: number; reference: Pick<Engine, "forward"> };
  optimizer: OptimizerStep;
  schedule?: Partial<Schedule>;
  microBatchTokens?: number;
  /** Steps that collecting may run ahead of training, where the engine can do both at once. */
  maxStaleness?: 0 | 1;
  checkpointEvery?: number;
  evaluation?: { every: number; run: (step: number) => Promise<Record<string, number>> };
  /** Names the task set in the run's description. */
  dataFingerprint?: string;
  config?: Record<string, unknown>;
  codeVersion?: string;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

export interface RlResult {
  steps: number;
  rollouts: number;
  /** Mean reward of the first and of the last fifth of the steps. */
  firstReward: number;
  lastReward: number;
  figures: Record<string, number>;
}

/** DAPO's clip range; `dualClip` bounds what a bad rollout with a huge ratio can do. */
export const dapoLoss: LossSpec = { name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 10 };

/** Runs the steps, or stops cleanly on an abort with a checkpoint to resume from. */
export async function trainRl(options: RlOptions): Promise<RlResult> {
  const { engine, seed, steps } = options;
  const settings = { steps, groups: options.groups ?? 64, samples: options.samples ?? 8, epochs: options.epochs ?? 1 };
  const folder = await openRunFolder(
    options.folder,
    {
      kind: "rl",
      config: {
        ...settings,
        updatesPerEpoch: options.updatesPerEpoch ?? 2,
        loss: options.loss ?? dapoLoss,
        baseline: options.baseline ?? "group",
        optimizer: options.optimizer,
        ...options.config,
      },
      seed,
      dataFingerprint: options.dataFingerprint ?? "",
      codeVersion: options.codeVersion ?? "unknown",
    },
    options.resume ?? false,
  );
  const journal = await jsonlJournal<Rollout>(join(options.folder, "rollouts.jsonl"));
  try {
    if (folder.checkpoint) await engine.loadState(join(folder.checkpoint, "engine"));
    const finished = new Map<string, Rollout>();
    for await (const rollout of journal.read()) {
      if (rollout.step < folder.resumeStep) continue;
      const { task, trajectory } = rollout;
      finished.set(rolloutKey(rollout), { ...rollout, task: readTask(task), trajectory: readTrajectory(trajectory) });
    }
    return await loop(options, folder, (step) =>
      collectGroups({
        step,
        seed,
        groups: settings.groups,
        samples: settings.samples,
        maxRounds: options.maxRounds ?? 4,
        tasks: options.tasks,
        rollout: async (task, how) => ({ ...(await options.rollout(task, how)), policyVersion: step }),
        reward: options.reward,
        concurrency: options.concurrency ?? 64,
        journal,
        finished,
        signal: options.signal,
      }),
    );
  } finally {
    await journal.close();
    await folder.close();
  }
}

async function loop(
  options: RlOptions,
  folder: RunFolder,
  collect: (step: number) => Promise<Collected>,
): Promise<RlResult> {
  const { engine, steps, signal } = options;
  const schedule: Schedule = { ...defaultSchedule, decay: "constant", ...options.schedule };
  const ahead = (options.maxStaleness ?? 0) > 0 && engine.capabilities.overlap;
  const totals = await readTotals(folder);
  let figures: Record<string, number> = {};
  let upcoming: Promise<Collected> | null = null;
  for (let step = folder.resumeStep; step < steps; ) {
    const startedAt = performance.now();
    const collected = await (upcoming ?? collect(step));
    const collectMs = performance.now() - startedAt;
    upcoming = ahead && step + 1 < steps ? collect(step + 1) : null;
    upcoming?.catch(() => {}); // awaited in the next step; until then a failure must not count as unhandled
    const update = await updatePolicy(options, collected.groups, step, scheduleFactor(schedule, step, steps));
    step++;
    totals.rollouts += collected.rollouts;
    totals.rewards.push(collected.meanReward);
    const { groups, ...counts } = collected;
    const trainMs = performance.now() - startedAt - collectMs;
    await folder.log({
      step,
      ...counts,
      keptGroups: groups.length,
      ...update,
      collectMs,
      trainMs,
      staleness: ahead ? 1 : 0,
    });
    options.onProgress?.({
      stage: "rl",
      done: step,
      total: steps,
      figures: {
        reward: collected.meanReward,
        curve: sparkline(totals.rewards),
        kept: groups.length,
        rollouts: totals.rollouts,
      },
    });
    if (options.evaluation && (step % options.evaluation.every === 0 || step === steps)) {
      figures = await options.evaluation.run(step);
      await folder.log({ step, ...figures });
    }
    if (step % (options.checkpointEvery ?? 5) === 0 || step === steps || signal?.aborted) {
      await folder.save(step, async (path) => {
        await engine.saveState(join(path, "engine"));
        await writeFile(join(path, "totals.json"), JSON.stringify(totals));
      });
    }
    if (signal?.aborted)
      throw new CoaError("engine", `stopped after step ${step}; continue with --resume (${options.folder})`);
  }
  const fifth = Math.max(1, Math.floor(totals.rewards.length / 5));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return {
    steps,
    rollouts: totals.rollouts,
    firstReward: mean(totals.rewards.slice(0, fifth)),
    lastReward: mean(totals.rewards.slice(-fifth)),
    figures,
  };
}

/** Advantages, examples, and `epochs x updatesPerEpoch` clipped updates. */
async function updatePolicy(
  options: RlOptions,
  groups: readonly Group[],
  step: number,
  factor: number,
): Promise<Record<string, number>> {
  const { engine, optimizer } = options;
  const examples = groupExamples(groups, options.tokenizer, engine.capabilities.maxContext, options.baseline);
  if (examples.length === 0) return { updates: 0 };
  if (options.kl) await subtractKl(examples, options.kl, options.microBatchTokens);
  const totals: Record<string, number> = { updates: 0, loss: 0, gradientNorm: 0, trainedTokens: 0 };
  for (let epoch = 0; epoch < (options.epochs ?? 1); epoch++) {
    const order = seededRandom(options.seed, "update", step, epoch).shuffle(examples);
    for (const batch of inParts(order, options.updatesPerEpoch ?? 2)) {
      const tokens = batch.reduce((sum, example) => sum + trainedTokens(example), 0);
      // Token-level mean: long rollouts weigh more, as DAPO argues, and every update sees the same scale.
      const normalised = tokenMean(batch, "advantages", tokens, engine.capabilities.reduction);
      for (const part of microBatches(
        normalised.sort((a, b) => a.input.length - b.input.length),
        options.microBatchTokens,
      )) {
        const { loss, metrics } = await engine.forwardBackward(part, options.loss ?? dapoLoss);
        if (!Number.isFinite(loss)) throw new CoaError("engine", `the loss is ${loss}; the last checkpoint is intact`);
        totals["loss"]! += loss;
        for (const [name, value] of Object.entries(metrics)) totals[name] = (totals[name] ?? 0) + value;
      }
      const { gradientNorm } = await engine.optimStep({ ...optimizer, learningRate: optimizer.learningRate * factor });
      totals["gradientNorm"]! += gradientNorm;
      totals["trainedTokens"]! += tokens;
      totals["updates"]!++;
    }
  }
  for (const name of ["loss", "gradientNorm"]) totals[name]! /= totals["updates"]!;
  return totals;
}

/** Every rollout of every group with its advantage on the tokens it sampled. */
export function groupExamples(
  groups: readonly Group[],
  tokenizer: Tokenizer,
  maxContext = Number.POSITIVE_INFINITY,
  baseline: Baseline = "group",
): Example[] {
  return groups.flatMap(({ rollouts }) => {
    const rewards = rollouts.map(({ reward }) => reward);
    const examples = rollouts.map(({ trajectory }) =>
      withinContext(rolloutToExample(trajectory, tokenizer, 1), maxContext),
    );
    const advantages = groupAdvantages(rewards, baseline === "group" ? undefined : examples.map(gradientWeight));
    return examples
      .map((example, at) => ({ ...example, advantages: example.advantages?.map((one) => one * advantages[at]!) }))
      .filter((example) => trainedTokens(example) > 0);
  });
}

/** A rollout that a last observation took past the window: what the model wrote stands before it and is kept. */
function withinContext(example: Example, maxContext: number): Example {
  if (example.input.length <= maxContext) return example;
  return {
    input: example.input.slice(0, maxContext),
    targets: example.targets.slice(0, maxContext),
    oldLogprobs: example.oldLogprobs?.slice(0, maxContext),
    advantages: example.advantages?.slice(0, maxContext),
  };
}

/** Charges every sampled token for how far the policy has gone from the reference. */
async function subtractKl(
  examples: readonly Example[],
  kl: NonNullable<RlOptions["kl"]>,
  maxTokens?: number,
): Promise<void> {
  for (const part of microBatches(examples, maxTokens)) {
    const { logprobs } = await kl.reference.forward(part, { name: "cross_entropy" });
    part.forEach(({ advantages, oldLogprobs }, index) => {
      advantages?.forEach((advantage, at) => {
        if (advantage !== 0)
          advantages[at]! -= kl.coefficient * ((oldLogprobs?.[at] ?? 0) - (logprobs[index]?.[at] ?? 0));
      });
    });
  }
}

function trainedTokens(example: Example): number {
  return example.advantages?.reduce((count, advantage) => count + (advantage === 0 ? 0 : 1), 0) ?? 0;
}

function inParts<T>(items: readonly T[], parts: number): T[][] {
  const size = Math.ceil(items.length / Math.max(1, parts));
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}

async function readTotals(folder: RunFolder): Promise<{ rollouts: number; rewards: number[] }> {
  if (!folder.checkpoint) return { rollouts: 0, rewards: [] };
  return JSON.parse(await readFile(join(folder.checkpoint, "totals.json"), "utf8"));
}
