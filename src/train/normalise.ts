/**
 * Engines reduce the loss differently: most sum over tokens, others take a mean per sequence and then over sequences.
 * The loops use only one reduction, a mean over all trained tokens of the batch, and this file converts it: a factor
 * goes into every weight or advantage before the batch is sent. Where an engine divides by the weights themselves no
 * factor has an effect: such an engine learns from the mean of each sequence, and weights are sent as they are.
 */
import type { EngineCapabilities, Example, LossSpec } from "../core/engine.ts";

/** Scales each example so that the engine's own reduction yields the mean over the batch's trained tokens. */
export function tokenMean(
  examples: readonly Example[],
  loss: LossSpec,
  { losses }: Pick<EngineCapabilities, "losses">,
): Example[] {
  const reduction = losses[loss.name]?.reduction ?? "sum";
  if (reduction === "weighted-sequence-mean") return [...examples];
  const field = loss.name === "cross_entropy" ? "weights" : "advantages";
  const total = trainedTokens(examples, loss);
  return examples.map((example) => {
    const values = example[field] ?? new Float32Array(example.targets.length).fill(1);
    // sequence-mean engines divide by the sequence's target count and by the number of sequences: undo both.
    const factor =
      (reduction === "sum" ? 1 : example.targets.length * examples.length) / Math.max(total, Number.MIN_VALUE);
    return { ...example, [field]: values.map((value) => value * factor) };
  });
}

/** What a batch's loss is divided by: the sum of the weights, or the number of tokens that carry an advantage. */
export function trainedTokens(examples: readonly Example[], loss: LossSpec): number {
  let sum = 0;
  for (const { weights, advantages, targets } of examples) {
    if (loss.name !== "cross_entropy")
      sum += advantages?.reduce((count, advantage) => count + (advantage === 0 ? 0 : 1), 0) ?? 0;
    else if (!weights) sum += targets.length;
    else for (const weight of weights) sum += weight;
  }
  return sum;
}
