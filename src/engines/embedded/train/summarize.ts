/** Adds up what the graph returned: the loss, summed in double precision, and the figures a training loop watches. */
import type { ForwardResult, LossSpec } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import type { Example } from "../../../core/example.ts";
import { type LossNumbers, tokenLoss } from "../loss/policy-loss.ts";

/** The result of a forward pass; throws, naming the example, when a log-probability that counts is not a number. */
export function summarize(
  examples: readonly Example[],
  loss: LossSpec,
  computed: { numbers: LossNumbers; factors: readonly Float32Array[]; logprobs: Float32Array[] },
): ForwardResult {
  let total = 0;
  let active = 0;
  let factorSum = 0;
  let logprobSum = 0;
  let clipped = 0;
  let ratioSum = 0;
  let ratioMax = 0;
  examples.forEach((example, number) => {
    const logprobs = computed.logprobs[number]!;
    const factors = computed.factors[number]!;
    for (let index = 0; index < logprobs.length; index++) {
      const logprob = logprobs[index]!;
      if (Number.isNaN(logprob)) {
        throw new CoaError(
          "engine",
          `example ${number}, token ${index}: the log-probability is not a number; the weights have diverged, load an earlier state`,
        );
      }
      const factor = factors[index]!;
      if (factor === 0) continue;
      const token = tokenLoss(loss, computed.numbers, { logprob, old: example.oldLogprobs?.[index] ?? 0, factor });
      total += token.loss;
      active++;
      factorSum += factor;
      logprobSum += logprob;
      if (token.clipped) clipped++;
      ratioSum += token.ratio;
      ratioMax = Math.max(ratioMax, token.ratio);
    }
  });
  const metrics: Record<string, number> = {
    activeTokens: active,
    factorSum,
    logprobMean: active ? logprobSum / active : 0,
  };
  if (loss.name !== "cross_entropy" && active > 0) {
    Object.assign(metrics, { clipFraction: clipped / active, ratioMean: ratioSum / active, ratioMax });
  }
  return { loss: total, logprobs: computed.logprobs, metrics };
}
