/**
 * The four losses are one formula. Each is a sum over tokens whose slope with respect to the target's log-probability is
 * `-a * clip(ratio, floor, ceiling) * active`, where `a` is the weight or advantage and ratio = exp(logprob - old).
 * With low = 1 - clipLow and high = 1 + clipHigh:
 *
 * | loss                | floor, ceiling      | a token is inactive when                                          |
 * |---------------------|---------------------|-------------------------------------------------------------------|
 * | cross_entropy       | 1, 1                | never                                                             |
 * | importance_sampling | 0, infinity         | never                                                             |
 * | ppo                 | 0, infinity         | a > 0 and ratio > high; a < 0 and ratio < low; a < 0 and ratio > dual |
 * | cispo               | low, high           | never                                                             |
 *
 * So one training graph serves all of them, fed with six numbers. Log-probabilities are those at `temperature`, which is how
 * the tokens were sampled. Engines compute gradients; the loops compute the loss they show from log-probabilities, here, so
 * that every engine shows the same number.
 */

import type { Example, LossSpec, OptimizerStep } from "../../core/engine.ts";
import { UsageError } from "../../core/errors.ts";

/** The numbers that make the common formula a particular loss. */
export interface LossNumbers {
  floor: number;
  ceiling: number;
  low: number;
  high: number;
  dual: number;
  /** Logits are multiplied by this: 1 / temperature. */
  sharpness: number;
}

const unbounded = 3e38;

/** Log-probabilities further apart than this count as this far apart, so that a ratio is always a number. */
export const largestGap = 20;

/** The numbers of a loss; refuses bounds that are not bounds of a ratio. */
export function lossNumbers(loss: LossSpec): LossNumbers {
  const { temperature = 1 } = loss;
  if (!(temperature > 0 && temperature < Number.POSITIVE_INFINITY))
    throw new UsageError(`${loss.name}: temperature is ${temperature}; it must be a number above 0`);
  const sharpness = 1 / temperature;
  const free = { sharpness, floor: 0, ceiling: unbounded, low: -unbounded, high: unbounded, dual: unbounded };
  switch (loss.name) {
    case "cross_entropy":
      return { ...free, floor: 1, ceiling: 1 };
    case "importance_sampling":
      return free;
    case "ppo":
      checkBounds(loss);
      if (loss.dualClip !== undefined && !(loss.dualClip > 1)) {
        throw new UsageError(`ppo: dualClip is ${loss.dualClip}; it bounds the ratio from above and must exceed 1`);
      }
      return { ...free, low: 1 - loss.clipLow, high: 1 + loss.clipHigh, dual: loss.dualClip ?? unbounded };
    case "cispo":
      checkBounds(loss);
      return { ...free, floor: 1 - loss.clipLow, ceiling: 1 + loss.clipHigh };
    default:
      throw new UsageError(`unknown loss ${JSON.stringify(loss)}`);
  }
}

function checkBounds(loss: { name: string; clipLow: number; clipHigh: number }): void {
  if (!(loss.clipLow >= 0 && loss.clipLow <= 1 && loss.clipHigh >= 0)) {
    throw new UsageError(
      `${loss.name}: clipLow ${loss.clipLow} and clipHigh ${loss.clipHigh} are distances from a ratio of 1, such as 0.2 and 0.28`,
    );
  }
}

/** Refuses an optimizer step whose numbers would spoil the weights. */
export function checkStep(step: OptimizerStep): void {
  const bounds = { beta1: 1, beta2: 1 } as Record<string, number>;
  const names = { learningRate: "learning rate", matrixLearningRate: "learning rate of matrices" } as Record<
    string,
    string
  >;
  for (const [key, value] of Object.entries(step)) {
    const most = bounds[key];
    if (value === undefined || (value >= 0 && (most === undefined ? Number.isFinite(value) : value < most))) continue;
    const range = most === undefined ? "a number of at least 0" : `at least 0 and below ${most}`;
    throw new UsageError(`the ${names[key] ?? key} is ${value}; it must be ${range}`);
  }
}

/** The per-token factors `a` of an example: weights for cross-entropy (1 when absent), advantages for the others. */
export function tokenFactors(example: Example, loss: LossSpec): Float32Array {
  if (loss.name === "cross_entropy") return example.weights ?? new Float32Array(example.targets.length).fill(1);
  if (!example.advantages || !example.oldLogprobs) {
    throw new UsageError(`${loss.name} needs advantages and oldLogprobs on every example`);
  }
  return example.advantages;
}

/** One token's loss and how its ratio was treated, computed from the log-probability the graph returned. */
export function tokenLoss(
  loss: LossSpec,
  numbers: LossNumbers,
  token: { logprob: number; old: number; factor: number },
): { loss: number; clipped: boolean; ratio: number } {
  const { logprob, old, factor } = token;
  if (factor === 0) return { loss: 0, clipped: false, ratio: 1 };
  if (loss.name === "cross_entropy") return { loss: -factor * logprob, clipped: false, ratio: 1 };
  const ratio = Math.exp(Math.min(Math.max(logprob - old, -largestGap), largestGap));
  if (loss.name === "cispo") {
    const bounded = Math.min(Math.max(ratio, numbers.floor), numbers.ceiling);
    return { loss: -factor * bounded * logprob, clipped: bounded !== ratio, ratio };
  }
  const bounded = Math.min(Math.max(ratio, numbers.low), numbers.high);
  let objective = Math.min(ratio * factor, bounded * factor);
  if (factor < 0) objective = Math.max(objective, numbers.dual * factor);
  return { loss: -objective, clipped: objective !== ratio * factor, ratio };
}

/** What the tokens of one example came to. */
export interface ExampleFigures {
  loss: number;
  /** Tokens with a weight or advantage. */
  tokens: number;
  clippedTokens: number;
  ratioMean: number;
  ratioMin: number;
  ratioMax: number;
  /** The largest distance between the log-probability now and the one it was sampled with. */
  ratioGap: number;
}

/** Each example's loss and ratios, from the log-probabilities an engine returned and unscaled weights or advantages. */
export function lossFigures(
  examples: readonly Example[],
  loss: LossSpec,
  logprobs: readonly Float32Array[],
): ExampleFigures[] {
  const numbers = lossNumbers(loss);
  return examples.map((example, number) => {
    const factors = tokenFactors(example, loss);
    const figures = { loss: 0, tokens: 0, clippedTokens: 0, ratioMean: 0, ratioMin: 1, ratioMax: 1, ratioGap: 0 };
    factors.forEach((factor, at) => {
      if (factor === 0) return;
      const logprob = logprobs[number]![at]!;
      const old = example.oldLogprobs?.[at] ?? 0;
      const token = tokenLoss(loss, numbers, { logprob, old, factor });
      figures.loss += token.loss;
      figures.tokens++;
      if (token.clipped) figures.clippedTokens++;
      figures.ratioMean += token.ratio;
      figures.ratioMin = Math.min(figures.ratioMin, token.ratio);
      figures.ratioMax = Math.max(figures.ratioMax, token.ratio);
      if (loss.name !== "cross_entropy") figures.ratioGap = Math.max(figures.ratioGap, Math.abs(logprob - old));
    });
    figures.ratioMean = figures.tokens === 0 ? 1 : figures.ratioMean / figures.tokens;
    return figures;
  });
}

/** The loss of all examples, summed over their tokens. */
export function totalLoss(examples: readonly Example[], loss: LossSpec, logprobs: readonly Float32Array[]): number {
  return lossFigures(examples, loss, logprobs).reduce((sum, figures) => sum + figures.loss, 0);
}
