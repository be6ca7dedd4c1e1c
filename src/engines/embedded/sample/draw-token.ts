/**
 * Drawing one token from logits. The log-probability returned is that of exactly the distribution drawn from, after
 * temperature, top-k, top-p and mask. Greedy decoding draws nothing: it takes the largest allowed logit and reports its
 * log-probability at temperature 1, which is what scoring reports.
 */
import { CoaError } from "../../../core/errors.ts";

export interface DrawOptions {
  temperature: number;
  topK: number; // 0 = all
  topP: number; // 1 = all
  /** Ids that may be drawn; undefined = all. */
  allowed?: readonly number[] | undefined;
  /** In [0, 1). */
  uniform: () => number;
}

export interface Drawn {
  token: number;
  logprob: number;
}

/** What to say of logits that no distribution can be made of. */
export function brokenLogits(value: number): string {
  return `the model's logits are ${value}; its weights are broken`;
}

/** Draws from weights already exponentiated and summed, the common case: no mask, no cut. */
export function drawFromWeights(weights: Float32Array, sum: number, uniform: number): Drawn {
  let left = uniform * sum;
  let token = -1;
  for (let index = 0; index < weights.length; index++) {
    const weight = weights[index]!;
    // Weights of 1e-37 are floors of the exponential, not probabilities.
    if (weight < 1e-37) continue;
    token = index;
    left -= weight;
    if (left < 0) break;
  }
  return { token, logprob: Math.log(weights[token]! / sum) };
}

/** Draws from raw logits with any combination of options. */
export function drawFromLogits(logits: Float32Array, options: DrawOptions): Drawn {
  const candidates = candidateIds(logits, options);
  const largest = logits[candidates[0]!]!;
  if (!Number.isFinite(largest)) throw new CoaError("engine", brokenLogits(largest));
  const greedy = options.temperature === 0;
  const scale = greedy ? 1 : 1 / options.temperature;
  const weights = new Float64Array(candidates.length);
  let sum = 0;
  for (let index = 0; index < candidates.length; index++) {
    const weight = Math.exp(scale * (logits[candidates[index]!]! - largest));
    weights[index] = weight;
    sum += weight;
  }
  let kept = candidates.length;
  if (options.topP < 1 && !greedy) {
    // The smallest set of most likely ids whose probability reaches topP.
    let reached = 0;
    kept = 0;
    while (kept < candidates.length && reached < options.topP * sum) reached += weights[kept++]!;
    kept = Math.max(kept, 1);
    sum = weights.subarray(0, kept).reduce((a, b) => a + b, 0);
  }
  let chosen = 0;
  if (!greedy) {
    let left = options.uniform() * sum;
    for (let index = 0; index < kept; index++) {
      if (weights[index] === 0) continue;
      chosen = index;
      left -= weights[index]!;
      if (left < 0) break;
    }
  }
  return { token: candidates[chosen]!, logprob: Math.log(weights[chosen]! / sum) };
}

/** The ids that may be drawn; the most likely first, and all in that order where a cut needs it. */
function candidateIds(logits: Float32Array, { temperature, topK, topP, allowed }: DrawOptions): ArrayLike<number> {
  const ids = allowed ? Int32Array.from(new Set(allowed)) : Int32Array.from(logits.keys());
  if (allowed) {
    for (const id of ids)
      if (!(id >= 0 && id < logits.length))
        throw new CoaError("engine", `the mask allows id ${id}, but the vocabulary ends at ${logits.length - 1}`);
    if (ids.length === 0) throw new CoaError("engine", "the mask allows no token at all; the grammar is at a dead end");
    // The order of a mask must not change what a seed draws.
    ids.sort();
  }
  if (temperature > 0 && ((topK > 0 && topK < ids.length) || topP < 1)) {
    ids.sort((a, b) => logits[b]! - logits[a]! || a - b);
    return topK > 0 && topK < ids.length ? ids.subarray(0, topK) : ids;
  }
  let best = 0;
  for (let index = 1; index < ids.length; index++) if (logits[ids[index]!]! > logits[ids[best]!]!) best = index;
  [ids[0], ids[best]] = [ids[best]!, ids[0]!];
  return ids;
}
