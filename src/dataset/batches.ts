/**
 * Batches of similar lengths: padding is wasted work, and in a batch every row costs as much as the longest. Examples are
 * shuffled, sorted by length inside windows, cut into batches under a budget of padded tokens, and the batches shuffled
 * again, so that lengths are alike within a batch and not ordered across batches. Equal seeds give equal batches.
 */
export interface BatchOptions {
  /** Most tokens of a batch, padding included (rows x longest row). */
  maxTokens: number;
  seed: number;
  /** Most examples of a batch. */
  maxExamples?: number;
  /** Examples sorted together; more means less padding and less mixing. */
  window?: number;
}

/** Indices of the examples of each batch, given the lengths of all examples. */
export function lengthBuckets(lengths: readonly number[], options: BatchOptions): number[][] {
  const random = seededRandom(options.seed);
  const order = shuffled(
    lengths.map((_, index) => index),
    random,
  );
  const window = options.window ?? 1024;
  const most = options.maxExamples ?? Number.POSITIVE_INFINITY;
  const batches: number[][] = [];
  for (let start = 0; start < order.length; start += window) {
    const sorted = order.slice(start, start + window).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
    let batch: number[] = [];
    for (const index of sorted) {
      // Sorted, so the newest is the longest. One example above the budget is a batch of its own.
      const fits = (batch.length + 1) * lengths[index]! <= options.maxTokens && batch.length < most;
      if (batch.length > 0 && !fits) {
        batches.push(batch);
        batch = [];
      }
      batch.push(index);
    }
    if (batch.length > 0) batches.push(batch);
  }
  return shuffled(batches, random);
}

/** A small deterministic generator of numbers in [0, 1) (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A copy in random order. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [result[i], result[other]] = [result[other]!, result[i]!];
  }
  return result;
}
