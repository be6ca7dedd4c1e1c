/**
 * Supervised fine-tuning over the Engine interface. The loss is the mean over the tokens that the model itself wrote;
 * everything else has weight 0. One step: take the batch of this step, run it in micro-batches (gradients accumulate),
 * clip, update. State is checkpointed whole, and the batch is a function of the step, so a run that was killed and
 * resumed ends with the weights of one that was not.
 */
import { join } from "node:path";
import { sparkline } from "../cli/plot-metrics.ts";
import type { Engine, OptimizerStep } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import type { Example } from "../core/example.ts";
import type { ExampleSource } from "./example-source.ts";
import { tokenMean, totalWeight } from "./normalise.ts";
import { openRunFolder, type RunFolder } from "./run-folder.ts";
import { defaultSchedule, type Schedule, scheduleFactor } from "./schedule.ts";

export interface SftOptions {
  engine: Engine;
  source: ExampleSource;
  /** The run's folder: metrics, checkpoints, configuration. */
  folder: string;
  resume?: boolean;
  seed: number;
  steps: number;
  optimizer: OptimizerStep;
  schedule?: Partial<Schedule>;
  /** A batch is cut into micro-batches of at most this many padded tokens; gradients accumulate. */
  microBatchTokens?: number;
  checkpointEvery?: number;
  /** Held-out loss and success of real chains, measured every so many steps and at the end. */
  evaluation?: {
    every: number;
    examples?: readonly Example[];
    /** Runs real chains with the model as it is and returns figures, e.g. `{ success: 0.93 }`. */
    chains?: (step: number) => Promise<Record<string, number>>;
    /** Stop when this figure has not improved for `patience` evaluations; `loss` falls, all others rise. */
    earlyStop?: { figure: string; patience: number };
  };
  config?: Record<string, unknown>;
  codeVersion?: string;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

export interface SftResult {
  steps: number;
  loss: number;
  stoppedEarly: boolean;
  figures: Record<string, number>;
}

/** Trains until the steps are done, an early stop, or an abort (which leaves a checkpoint to resume from). */
export async function trainSft(options: SftOptions): Promise<SftResult> {
  const { engine, source, steps, seed, signal } = options;
  const description = {
    kind: "sft" as const,
    config: {
      steps,
      optimizer: options.optimizer,
      schedule: options.schedule ?? {},
      microBatchTokens: options.microBatchTokens ?? null,
      ...options.config,
    },
    seed,
    dataFingerprint: source.fingerprint,
    codeVersion: options.codeVersion ?? "unknown",
  };
  const folder = await openRunFolder(options.folder, description, options.resume ?? false);
  try {
    if (folder.checkpoint) await engine.loadState(join(folder.checkpoint, "engine"));
    return await loop(options, folder);
  } catch (error) {
    if (signal?.aborted)
      throw new CoaError("engine", `stopped at the last checkpoint; continue with --resume (${options.folder})`, {
        cause: error,
      });
    throw error;
  } finally {
    await folder.close();
  }
}

async function loop(options: SftOptions, folder: RunFolder): Promise<SftResult> {
  const { engine, source, steps, evaluation, signal } = options;
  const schedule = { ...defaultSchedule, ...options.schedule };
  const checkpointEvery = options.checkpointEvery ?? 200;
  const save = (step: number) => folder.save(step, (path) => engine.saveState(join(path, "engine")));
  const best = { value: Number.POSITIVE_INFINITY, misses: 0 };
  const curve: number[] = [];
  let smoothed: number | null = null;
  let figures: Record<string, number> = {};
  let step = folder.resumeStep;
  let stoppedEarly = false;
  while (step < steps && !stoppedEarly) {
    const startedAt = performance.now();
    const factor = scheduleFactor(schedule, step, steps);
    const { loss, tokens, gradientNorm } = await sftStep(options, await source.batch(step), factor);
    step++;
    smoothed = smoothed === null ? loss : 0.95 * smoothed + 0.05 * loss;
    curve.push(smoothed);
    const tokensPerSecond = tokens / ((performance.now() - startedAt) / 1000);
    await folder.log({
      step,
      loss,
      tokens,
      gradientNorm,
      learningRate: options.optimizer.learningRate * factor,
      tokensPerSecond,
    });
    options.onProgress?.({
      stage: "sft",
      done: step,
      total: steps,
      figures: { loss: smoothed, curve: sparkline(curve), "tokens/s": Math.round(tokensPerSecond) },
    });
    if (evaluation && (step % evaluation.every === 0 || step === steps)) {
      figures = await evaluate(options, step);
      await folder.log({ step, ...figures });
      stoppedEarly = hasStalled(evaluation.earlyStop, figures, best);
    }
    if (step % checkpointEvery === 0 || step === steps || stoppedEarly || signal?.aborted) await save(step);
    if (signal?.aborted) throw new CoaError("engine", "stopped");
  }
  return { steps: step, loss: smoothed ?? Number.NaN, stoppedEarly, figures };
}

/** One update. A loss that is not a number stops the run before it can spoil the weights. */
async function sftStep(
  options: SftOptions,
  batch: readonly Example[],
  factor: number,
): Promise<{ loss: number; tokens: number; gradientNorm: number }> {
  const { engine, optimizer } = options;
  const total = totalWeight(batch);
  if (total <= 0) throw new CoaError("format", "a batch has no token to learn from: every weight is 0");
  const normalised = tokenMean(batch, "weights", total, engine.capabilities.reduction);
  let loss = 0;
  for (const part of microBatches(normalised, options.microBatchTokens)) {
    loss += (await engine.forwardBackward(part, { name: "cross_entropy" })).loss;
  }
  if (!Number.isFinite(loss)) {
    throw new CoaError(
      "engine",
      `the loss is ${loss}: the last checkpoint is intact; lower the learning rate and resume`,
    );
  }
  const { gradientNorm } = await engine.optimStep({
    ...optimizer,
    learningRate: optimizer.learningRate * factor,
    ...(optimizer.matrixLearningRate === undefined
      ? {}
      : { matrixLearningRate: optimizer.matrixLearningRate * factor }),
  });
  return { loss, tokens: batch.reduce((sum, example) => sum + example.input.length, 0), gradientNorm };
}

/** Cuts a batch so that each part's padded size stays within the limit. */
export function microBatches(batch: readonly Example[], maxTokens = Number.POSITIVE_INFINITY): Example[][] {
  const parts: Example[][] = [];
  let longest = 0;
  for (const example of batch) {
    const part = parts.at(-1);
    longest = Math.max(longest, example.input.length);
    if (part && (part.length + 1) * longest <= maxTokens) part.push(example);
    else {
      parts.push([example]);
      longest = example.input.length;
    }
  }
  return parts;
}

async function evaluate(options: SftOptions, step: number): Promise<Record<string, number>> {
  const { engine, evaluation } = options;
  const figures: Record<string, number> = {};
  if (evaluation?.examples?.length) {
    let loss = 0;
    for (const part of microBatches(evaluation.examples, options.microBatchTokens)) {
      loss += (await engine.forward(part, { name: "cross_entropy" })).loss;
    }
    figures["heldOutLoss"] = loss / totalWeight(evaluation.examples);
  }
  return { ...figures, ...(await evaluation?.chains?.(step)) };
}

function hasStalled(
  rule: { figure: string; patience: number } | undefined,
  figures: Record<string, number>,
  best: { value: number; misses: number },
): boolean {
  const value = rule ? figures[rule.figure] : undefined;
  if (!rule || value === undefined) return false;
  const cost = /loss/i.test(rule.figure) ? value : -value;
  if (cost < best.value) {
    best.value = cost;
    best.misses = 0;
    return false;
  }
  best.misses++;
  return best.misses >= rule.patience;
}
