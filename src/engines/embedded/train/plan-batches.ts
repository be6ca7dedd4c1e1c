/**
 * Examples of different lengths are run in groups, each padded to its longest member. Which examples share a group
 * decides how much padding is computed for nothing and how often a graph is started; the cheapest division of the
 * examples, sorted by length, is found exactly.
 */

/** Costs in tokens: what starting a group costs, and how many tokens one group may hold. */
export interface BatchLimits {
  maxTokens: number;
  startCost?: number;
}

/** Row lengths are rounded up a little, so that few distinct shapes occur and matrix kernels meet even sizes. */
export function paddedLength(length: number): number {
  const step = length <= 32 ? 4 : length <= 128 ? 8 : 16;
  return Math.ceil(length / step) * step;
}

/** A group: the length its rows are padded to and the indices of its examples. */
export interface BatchPlan {
  length: number;
  members: number[];
}

/** Divides examples of the given lengths into groups at the least total cost. */
export function planBatches(lengths: readonly number[], limits: BatchLimits): BatchPlan[] {
  const startCost = limits.startCost ?? 96;
  const order = lengths.map((_, index) => index).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
  const rowLength = (index: number) => paddedLength(lengths[order[index]!]!);
  // best[end]: least cost of the `end` shortest examples; from[end]: where its last group starts.
  const best = new Float64Array(order.length + 1).fill(Number.POSITIVE_INFINITY);
  const from = new Int32Array(order.length + 1);
  best[0] = 0;
  for (let end = 1; end <= order.length; end++) {
    const length = rowLength(end - 1);
    for (let start = end - 1; start >= 0; start--) {
      const tokens = (end - start) * length;
      if (tokens > limits.maxTokens && start < end - 1) break;
      const cost = best[start]! + startCost + tokens;
      if (cost < best[end]!) {
        best[end] = cost;
        from[end] = start;
      }
    }
  }
  const plans: BatchPlan[] = [];
  for (let end = order.length; end > 0; end = from[end]!) {
    plans.push({ length: rowLength(end - 1), members: order.slice(from[end]!, end) });
  }
  return plans.reverse();
}
