import { lossNumbers, tokenFactors, tokenLoss } from "../../base/count/policy-loss.ts";
import type { Example, LossSpec } from "../../core/engine.ts";

/** The loss of every token, as other servers return it beside the log-probabilities. */
export function elementwise(
  examples: readonly Example[],
  loss: LossSpec,
  logprobs: readonly Float32Array[],
): Float32Array[] {
  const numbers = lossNumbers(loss);
  return examples.map((example, number) => {
    const factors = tokenFactors(example, loss);
    return logprobs[number]!.map((logprob, at) => {
      const factor = factors[at]!;
      return factor === 0 ? 0 : tokenLoss(loss, numbers, { logprob, old: example.oldLogprobs?.[at] ?? 0, factor }).loss;
    });
  });
}
