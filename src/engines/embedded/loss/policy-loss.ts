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
 * So one training graph serves all of them, fed with six numbers.
 */

import type { LossSpec } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import type { Example } from "../../../core/example.ts";

/** The numbers that make the common formula a particular loss. */
export interface LossNumbers {
  floor: number;
  ceiling: number;
  low: number;
  high: number;
  dual: number;
}

const unbounded = 3e38;

/** Log-probabilities further apart than this count as this far apart, so that a ratio is always a number. */
export const largestGap = 20;

/** The numbers of a loss; refuses bounds that are not bounds of a ratio. */
export function lossNumbers(loss: LossSpec): LossNumbers {
  const free = { floor: 0, ceiling: unbounded, low: -unbounded, high: unbounded, dual: unbounded };
  switch (loss.name) {
    case "cross_entropy":
      return { ...free, floor: 1, ceiling: 1 };
    case "importance_sampling":
      return free;
    case "ppo":
      checkBounds(loss);
      if (loss.dualClip !== undefined && !(loss.dualClip > 1)) {
        throw new CoaError(
          "usage",
          `ppo: dualClip is ${loss.dualClip}; it bounds the ratio from above and must exceed 1`,
        );
      }
      return { ...free, low: 1 - loss.clipLow, high: 1 + loss.clipHigh, dual: loss.dualClip ?? unbounded };
    case "cispo":
      checkBounds(loss);
      return { ...free, floor: 1 - loss.clipLow, ceiling: 1 + loss.clipHigh };
    default:
      throw new CoaError("usage", `unknown loss ${JSON.stringify(loss)}`);
  }
}

function checkBounds(loss: { name: string; clipLow: number; clipHigh: number }): void {
  if (!(loss.clipLow >= 0 && loss.clipLow <= 1 && loss.clipHigh >= 0)) {
    throw new CoaError(
      "usage",
      `${loss.name}: clipLow ${loss.clipLow} and clipHigh ${loss.clipHigh} are distances from a ratio of 1, such as 0.2 and 0.28`,
    );
  }
}

/** The per-token factors `a` of an example: weights for cross-entropy (1 when absent), advantages for the others. */
export function tokenFactors(example: Example, loss: LossSpec): Float32Array {
  if (loss.name === "cross_entropy") return example.weights ?? new Float32Array(example.targets.length).fill(1);
  if (!example.advantages || !example.oldLogprobs) {
    throw new CoaError("usage", `${loss.name} needs advantages and oldLogprobs on every example`);
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
