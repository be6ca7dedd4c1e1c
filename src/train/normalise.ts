/**
 * Engines reduce the loss differently: most sum over tokens, one family takes a mean per sequence and then over
 * sequences. The loops think in one way only, a mean over all trained tokens of the batch, and this file translates it:
 * the factor below goes into every weight or advantage before the batch is sent.
 */
import type { EngineCapabilities } from "../core/engine.ts";
import type { Example } from "../core/example.ts";

/** Scales `values` of each example so that the engine's own reduction yields `sum(values * loss) / total`. */
export function tokenMean(
  examples: readonly Example[],
  field: "weights" | "advantages",
  total: number,
  reduction: EngineCapabilities["reduction"],
): Example[] {
  return examples.map((example) => {
    const values = example[field];
    if (!values) return example;
    // sequence-mean engines divide by the sequence's target count and by the number of sequences: undo both.
    const factor =
      (reduction === "sum" ? 1 : example.targets.length * examples.length) / Math.max(total, Number.MIN_VALUE);
    return { ...example, [field]: values.map((value) => value * factor) };
  });
}

/** Total cross-entropy weight of a batch. */
export function totalWeight(examples: readonly Example[]): number {
  let sum = 0;
  for (const { weights, targets } of examples) {
    if (!weights) sum += targets.length;
    else for (const weight of weights) sum += weight;
  }
  return sum;
}
