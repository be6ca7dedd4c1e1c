/**
 * One optimizer step, the same for imitation and for reinforcement: the batch is normalised to a mean over its trained tokens,
 * cut into requests, and all of them are sent together with the step before the first answer is awaited. What is shown
 * (loss, ratios) is computed here from log-probabilities and unscaled weights, so every engine shows the same numbers.
 */

import { type ExampleFigures, lossFigures } from "../base/count/policy-loss.ts";
import type { Engine, EngineCapabilities, Example, LossSpec, OptimizerStep } from "../core/engine.ts";
import { CoaError, UsageError } from "../core/errors.ts";
import { tokenMean, trainedTokens } from "./normalise.ts";

export interface StepOptions {
  loss: LossSpec;
  /** Peak rates; every rate is multiplied by `factor`, the schedule's value at this step. */
  optimizer: OptimizerStep;
  factor: number;
  microBatchTokens?: number;
  /** Examples to imitate in the same step; the mean loss of each set counts `coefficient` times as much as the batch's. */
  imitate?: readonly ImitatedExamples[];
}

/** Examples that are imitated beside a policy loss. */
export interface ImitatedExamples {
  examples: readonly Example[];
  coefficient: number;
}

export interface StepResult {
  loss: number;
  trainedTokens: number;
  gradientNorm?: number;
  /** One per example of the batch, in its order. */
  examples: ExampleFigures[];
}

/** Trains on one batch; rejects when the loss is not a number, which leaves earlier checkpoints as they were. */
export async function takeStep(engine: Engine, batch: readonly Example[], options: StepOptions): Promise<StepResult> {
  const { loss } = options;
  const imitate = (options.imitate ?? []).filter(({ examples }) => trainedTokens(examples, imitation) > 0);
  const trained = trainedTokens(batch, loss);
  if (trained <= 0 && imitate.length === 0)
    throw new CoaError("format", "a batch has no token to learn from: every weight is 0");
  const send = (examples: readonly Example[], how: LossSpec) =>
    microBatches(examples, options.microBatchTokens, engine.capabilities.requestLimits).map((part) =>
      engine.forwardBackward(part, how),
    );
  const passes = trained > 0 ? send(tokenMean(batch, loss, engine.capabilities), loss) : [];
  const imitated = imitate.flatMap(({ examples, coefficient }) =>
    send(scaled(tokenMean(examples, imitation, engine.capabilities), coefficient), imitation),
  );
  const [update, ...results] = await allOf([
    engine.optimStep(scheduled(options.optimizer, options.factor)),
    ...passes,
    ...imitated,
  ]);
  const logprobs = results.slice(0, passes.length).flatMap((result) => result.logprobs);
  const examples = trained > 0 ? lossFigures(batch, loss, logprobs) : [];
  const mean = trained > 0 ? examples.reduce((sum, figures) => sum + figures.loss, 0) / trained : 0;
  if (!Number.isFinite(mean)) {
    throw new CoaError(
      "engine",
      `the loss is ${mean}: the last checkpoint is intact; lower the learning rate and resume`,
    );
  }
  const { gradientNorm } = update;
  return { loss: mean, trainedTokens: trained, examples, ...(gradientNorm === undefined ? {} : { gradientNorm }) };
}

const imitation: LossSpec = { name: "cross_entropy" };

function scaled(examples: readonly Example[], factor: number): Example[] {
  return examples.map((example) => ({ ...example, weights: example.weights?.map((weight) => weight * factor) }));
}

/**
 * Waits for everything that was sent; of several failures the first one is thrown, not that of the step that followed.
 */
async function allOf<First, Rest>(sent: [Promise<First>, ...Promise<Rest>[]]): Promise<[First, ...Rest[]]> {
  const [first, ...rest] = await Promise.allSettled(sent);
  const failed = [...rest, first].find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
  const value = <T>(outcome: PromiseSettledResult<T>) => (outcome as PromiseFulfilledResult<T>).value;
  return [value(first as PromiseSettledResult<First>), ...rest.map((one) => value(one as PromiseSettledResult<Rest>))];
}

function scheduled(optimizer: OptimizerStep, factor: number): OptimizerStep {
  const { learningRate, matrixLearningRate } = optimizer;
  return {
    ...optimizer,
    learningRate: learningRate * factor,
    ...(matrixLearningRate === undefined ? {} : { matrixLearningRate: matrixLearningRate * factor }),
  };
}

/** The loss as this engine can compute it: options it lacks are left out or, where results would be wrong, refused. */
export function effectiveLoss(loss: LossSpec, { losses, logprobs }: EngineCapabilities): LossSpec {
  const known = losses[loss.name];
  if (!known) {
    throw new UsageError(`this engine has no loss ${loss.name}; it has ${Object.keys(losses).join(", ")}`);
  }
  const { temperature = 1, ...rest } = loss;
  if (temperature !== 1 && (!known.options.includes("temperature") || logprobs === "model")) {
    throw new UsageError(`this engine can't train on samples of temperature ${temperature}; sample at 1`);
  }
  const effective: LossSpec = temperature === 1 ? rest : loss;
  if (!("dualClip" in effective) || known.options.includes("dualClip")) return effective;
  const { dualClip: _, ...without } = effective;
  return without;
}

/** The optimizer as a manifest may claim it. One that the engine does not have is refused before anything is sent; a clip that its server may drop is sent, but not claimed. */
export function claimedOptimizer(optimizer: OptimizerStep, { capabilities, name }: Engine): OptimizerStep {
  const { gradientClip: _, ...unclipped } = optimizer;
  const { matrixLearningRate } = optimizer;
  if (matrixLearningRate !== undefined && capabilities.muon === false)
    throw new UsageError(`${name} trains with AdamW, not Muon: leave matrixLearningRate (train.matrixRate) out`);
  return capabilities.gradientClipping ? optimizer : unclipped;
}

/** Cuts a batch so that each part's padded size, and what one request may carry, stay within their limits. */
export function microBatches(
  batch: readonly Example[],
  maxTokens = Number.POSITIVE_INFINITY,
  limits: EngineCapabilities["requestLimits"] = { examples: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
): Example[][] {
  const parts: Example[][] = [];
  let longest = 0;
  let bytes = 0;
  for (const example of batch) {
    const part = parts.at(-1);
    longest = Math.max(longest, example.input.length);
    bytes += bytesOf(example);
    const fits = part && (part.length + 1) * longest <= maxTokens && part.length < limits.examples;
    if (part && fits && bytes <= limits.bytes) part.push(example);
    else {
      parts.push([example]);
      longest = example.input.length;
      bytes = bytesOf(example);
    }
  }
  return parts;
}

/** Size on the wire: 4 bytes an input id, 8 a target, 4 each weight, log-probability or advantage. */
function bytesOf({ input, weights, advantages, oldLogprobs }: Example): number {
  const floats = [weights, advantages, oldLogprobs].filter((values) => values !== undefined).length;
  return input.length * (12 + 4 * floats);
}

/** Engine cost so far, for the progress line; absent for free engines. */
export function costOf(engine: Engine): { "cost $"?: number } {
  const cost = engine.usage?.()["costUsd"];
  return cost === undefined ? {} : { "cost $": cost };
}
