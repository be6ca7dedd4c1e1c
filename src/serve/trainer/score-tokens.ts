/** Numbers for single tokens, as answers carry them: the loss of each, and the log-probability of each. */

import { lossNumbers, tokenFactors, tokenLoss } from "../../base/count/policy-loss.ts";
import type { Engine, Example, LossSpec } from "../../core/engine.ts";

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

/** Log-probability of every token of a text but the first. */
export async function scoreOf(engine: Engine, tokens: readonly number[]): Promise<Float32Array> {
  if (tokens.length < 2) return new Float32Array();
  const example = { input: Int32Array.from(tokens.slice(0, -1)), targets: Int32Array.from(tokens.slice(1)) };
  return (await engine.forward([example], { name: "cross_entropy" })).logprobs[0]!;
}
