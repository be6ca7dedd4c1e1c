/**
 * Supervised fine-tuning over the Engine interface. The loss is the mean over the tokens that the model itself wrote;
 * everything else has weight 0. One step: take the batch of this step, run it in micro-batches (gradients accumulate),
 * clip, update. State is checkpointed whole, and the batch is a function of the step, so a run that was killed and
 * resumed ends with the weights of one that was not.
 */

import { totalLoss } from "../base/count/policy-loss.ts";
import type { Resume } from "../base/files/claim-folder.ts";
import { checkOptions } from "../base/work/check-options.ts";
import type { Engine, Example, LossSpec, OptimizerStep } from "../core/engine.ts";
import { StoppedError } from "../core/errors.ts";
import type { OnProgress } from "../core/events.ts";
import type { ExampleSource } from "./example-source.ts";
import { trainedTokens } from "./normalise.ts";
import { continueIt, openRunFolder, type RunFolder } from "./run-folder.ts";
import { defaultSchedule, type Schedule, scheduleFactor } from "./schedule.ts";
import { claimedOptimizer, costOf, effectiveLoss, microBatches, takeStep } from "./take-step.ts";

export interface SftOptions {
  engine: Engine;
  source: ExampleSource;
  folder: string;
  resume?: Resume;
  seed: number;
  steps: number;
  optimizer: OptimizerStep;
  schedule?: Partial<Schedule>;
  /** A batch is cut into micro-batches of at most this many padded tokens; gradients accumulate. */
  microBatchTokens?: number;
  checkpointEvery?: number;
  /** Examples that are not trained on; their loss is measured every so many steps and at the end. */
  evaluation?: { every: number; examples: readonly Example[] };
  config?: Record<string, unknown>;
  signal?: AbortSignal;
  onProgress?: OnProgress;
}

export interface SftResult {
  steps: number;
  /** Of the first step, before anything was learned. */
  firstLoss?: number;
  loss: number;
  figures: Record<string, number>;
  /** Checkpoints that were damaged and set aside; the run went on from the one before. */
  damaged: readonly string[];
}

/** What a run must remember beside the engine's state to continue as if it had never stopped. */
interface Memory {
  firstLoss?: number;
  smoothedLoss: number | null;
  figures: Record<string, number>;
}

/** Trains until the steps are done, or an abort (which leaves a checkpoint to resume from). */
export async function trainSft(options: SftOptions): Promise<SftResult> {
  checkOptions("trainSft", options);
  const { engine, source, steps, seed, signal } = options;
  const loss = effectiveLoss({ name: "cross_entropy" }, engine.capabilities);
  const description = {
    kind: "sft" as const,
    config: {
      steps,
      optimizer: claimedOptimizer(options.optimizer, engine),
      schedule: options.schedule ?? {},
      microBatchTokens: options.microBatchTokens ?? null,
      reduction: engine.capabilities.losses.cross_entropy?.reduction ?? "sum",
      ...options.config,
    },
    seed,
    dataFingerprint: source.fingerprint,
  };
  const folder = await openRunFolder<Memory>(options.folder, description, options.resume);
  try {
    if (folder.checkpoint) await engine.loadState(folder.checkpoint.state);
    return await loop(options, loss, folder);
  } catch (error) {
    if (signal?.aborted)
      throw new StoppedError(`stopped at the last checkpoint of ${options.folder}`, { cause: error, hint: continueIt });
    throw error;
  } finally {
    await folder.close();
  }
}

async function loop(options: SftOptions, loss: LossSpec, folder: RunFolder<Memory>): Promise<SftResult> {
  const { engine, source, steps, evaluation, signal } = options;
  const schedule = { ...defaultSchedule, ...options.schedule };
  const checkpointEvery = options.checkpointEvery ?? 200;
  const memory: Memory = folder.checkpoint?.memory ?? { smoothedLoss: null, figures: {} };
  const curve: number[] = [];
  let step = folder.checkpoint?.step ?? 0;
  while (step < steps) {
    const startedAt = performance.now();
    const factor = scheduleFactor(schedule, step, steps);
    const batch = await source.batch(step);
    const taken = await takeStep(engine, batch, { ...options, loss, factor });
    const tokens = batch.reduce((sum, example) => sum + example.input.length, 0);
    step++;
    // The mean is never longer than the run: with a fixed weight a short run would show its first step's loss.
    const weight = Math.max(0.05, 2 / (step + 1));
    const smoothed = (1 - weight) * (memory.smoothedLoss ?? 0) + weight * taken.loss;
    memory.smoothedLoss = smoothed;
    if (step === 1) memory.firstLoss = taken.loss;
    curve.push(smoothed);
    const tokensPerSecond = tokens / ((performance.now() - startedAt) / 1000);
    await folder.log({
      step,
      loss: taken.loss,
      tokens,
      ...(taken.gradientNorm === undefined ? {} : { gradientNorm: taken.gradientNorm }),
      learningRate: options.optimizer.learningRate * factor,
      tokensPerSecond,
      ...engine.usage?.(),
    });
    options.onProgress?.({
      stage: "sft",
      done: step,
      total: steps,
      figures: { loss: smoothed, curve, "tokens/s": Math.round(tokensPerSecond), ...costOf(engine) },
    });
    if (evaluation && (step % evaluation.every === 0 || step === steps)) {
      memory.figures = await evaluate(options, loss);
      await folder.log({ step, ...memory.figures });
    }
    if (step % checkpointEvery === 0 || step === steps || signal?.aborted) await folder.save(step, engine, memory);
    if (signal?.aborted) throw signal.reason;
  }
  await folder.finish(step);
  const { firstLoss, smoothedLoss, figures } = memory;
  return {
    steps: step,
    ...(firstLoss !== undefined && { firstLoss }),
    loss: smoothedLoss ?? Number.NaN,
    figures,
    damaged: folder.damaged,
  };
}

async function evaluate(
  { engine, evaluation, microBatchTokens }: SftOptions,
  loss: LossSpec,
): Promise<Record<string, number>> {
  const examples = evaluation?.examples ?? [];
  if (examples.length === 0) return {};
  const parts = microBatches(examples, microBatchTokens, engine.capabilities.requestLimits);
  const results = await Promise.all(parts.map((part) => engine.forward(part, loss)));
  const logprobs = results.flatMap((result) => result.logprobs);
  return { heldOutLoss: totalLoss(examples, loss, logprobs) / trainedTokens(examples, loss) };
}
