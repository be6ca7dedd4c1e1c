/**
 * Drawing one token from logits. The log-probability returned is that of exactly the distribution drawn from, after
 * mask, temperature, top-k and top-p, applied in this order. Greedy decoding draws nothing: it takes the largest allowed
 * logit and reports its log-probability at temperature 1, which is what scoring reports.
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
  /** Also tells the entropy of the distribution. */
  entropy?: boolean | undefined;
}

export interface Drawn {
  token: number;
  logprob: number;
  /** In nats, where it was asked for. */
  entropy?: number;
}

/** The entropy of a distribution, from weights that are not divided by their sum yet. */
export function entropyOf(weights: Float32Array | Float64Array, sum: number): number {
  let weighed = 0;
  for (const weight of weights) if (weight > 1e-37) weighed += weight * Math.log(weight);
  return Math.max(0, Math.log(sum) - weighed / sum);
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

export function drawFromLogits(logits: Float32Array, options: DrawOptions): Drawn {
  let ids = options.allowed ? preparedMask(options.allowed, logits.length) : everyId(logits.length);
  const best = largestOf(logits, ids);
  const largest = logits[best]!;
  if (!Number.isFinite(largest)) throw new CoaError("engine", brokenLogits(largest));
  const greedy = options.temperature === 0;
  const scale = greedy ? 1 : 1 / options.temperature;
  if (!greedy && options.topK > 0 && options.topK < ids.length) ids = mostLikely(logits, ids, options.topK);
  let weights = new Float64Array(ids.length);
  let sum = 0;
  const entropy = () => (options.entropy ? { entropy: entropyOf(weights, sum) } : {});
  for (let index = 0; index < ids.length; index++)
    sum += weights[index] = Math.exp(scale * (logits[ids[index]!]! - largest));
  if (greedy) return { token: best, logprob: -Math.log(sum), ...entropy() };
  if (options.topP < 1) ({ ids, weights, sum } = nucleus(ids, weights, sum, options.topP));
  let left = options.uniform() * sum;
  let chosen = 0;
  for (let index = 0; index < ids.length; index++) {
    if (weights[index] === 0) continue;
    chosen = index;
    left -= weights[index]!;
    if (left < 0) break;
  }
  return { token: ids[chosen]!, logprob: Math.log(weights[chosen]! / sum), ...entropy() };
}

const masks = new WeakMap<readonly number[], Int32Array>();

/** A mask as sorted ids without repeats, so that its order changes nothing; kept, as grammars repeat their masks. */
function preparedMask(allowed: readonly number[], vocabularySize: number): Int32Array {
  let ids = masks.get(allowed);
  if (!ids) {
    ids = Int32Array.from(new Set(allowed)).sort();
    const strange = ids.find((id) => id < 0 || id >= vocabularySize);
    if (strange !== undefined)
      throw new CoaError("engine", `the mask allows id ${strange}, but the vocabulary ends at ${vocabularySize - 1}`);
    if (ids.length === 0) throw new CoaError("engine", "the mask allows no token at all; the grammar is at a dead end");
    masks.set(allowed, ids);
  }
  return ids;
}

let allIds = new Int32Array();

function everyId(count: number): Int32Array {
  if (allIds.length !== count) allIds = Int32Array.from({ length: count }, (_, id) => id);
  return allIds;
}

function largestOf(logits: Float32Array, ids: Int32Array): number {
  let best = ids[0]!;
  for (const id of ids) {
    const value = logits[id]!;
    if (Number.isNaN(value)) return id;
    if (value > logits[best]!) best = id;
  }
  return best;
}

/** The `count` largest, found with a sorted list of the best so far: most ids are rejected by one comparison. */
function mostLikely(logits: Float32Array, ids: Int32Array, count: number): Int32Array {
  const kept: number[] = [];
  for (const id of ids) {
    const value = logits[id]!;
    if (kept.length === count && value <= logits[kept[count - 1]!]!) continue;
    let low = 0;
    for (let high = kept.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (logits[kept[middle]!]! >= value) low = middle + 1;
      else high = middle;
    }
    kept.splice(low, 0, id);
    if (kept.length > count) kept.pop();
  }
  return Int32Array.from(kept);
}

/** The smallest set of most likely ids whose probability reaches `topP`. */
function nucleus(ids: Int32Array, weights: Float64Array, sum: number, topP: number) {
  // Weights below this floor together make up less than 1 - topP, so none of them is needed: few are left to sort.
  const floor = ((1 - topP) * sum) / ids.length;
  const order: number[] = [];
  for (let index = 0; index < ids.length; index++) if (weights[index]! >= floor) order.push(index);
  order.sort((a, b) => weights[b]! - weights[a]! || ids[a]! - ids[b]!);
  let reached = 0;
  let kept = 0;
  while (kept < order.length && reached < topP * sum) reached += weights[order[kept++]!]!;
  order.length = Math.max(kept, 1);
  return {
    ids: Int32Array.from(order, (index) => ids[index]!),
    weights: Float64Array.from(order, (index) => weights[index]!),
    sum: Math.max(reached, weights[order[0]!]!),
  };
}
