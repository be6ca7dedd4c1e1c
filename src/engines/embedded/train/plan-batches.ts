/**
 * Examples are run in groups. The tokens that all members of a group begin with, as far as they teach nothing, are computed
 * once (the trunk); the rest of each is padded to the longest. Which examples share a group decides how much is computed for
 * nothing and how often a graph is started. In a given order the cheapest division is found exactly; two orders are tried,
 * by length (little padding) and by beginning (long trunks), and the cheaper one is taken.
 */

/** Costs in tokens: what starting a group costs, and how many tokens one group may hold. */
export interface BatchLimits {
  maxTokens: number;
  startCost?: number;
}

/** What the planner knows of an example. */
export interface PlannedExample {
  tokens: Int32Array;
  /** Positions at its beginning that may be shared, because nothing is scored there. */
  silent: number;
}

/** Row lengths are rounded up a little, so that few distinct shapes occur and matrix kernels get even sizes. */
export function paddedLength(length: number): number {
  const step = length <= 32 ? 4 : length <= 128 ? 8 : 16;
  return Math.ceil(length / step) * step;
}

/** A group: how many tokens its examples share, the length its rows are padded to after them, and which examples. */
export interface BatchPlan {
  trunk: number;
  length: number;
  members: number[];
}

/** Fewer shared tokens than this are not worth a trunk, which costs about as much to start as this many tokens. */
const shortestTrunk = 16;

/** Divides examples into groups at the least total cost. */
export function planBatches(examples: readonly PlannedExample[], limits: BatchLimits): BatchPlan[] {
  const lengthOf = (index: number) => examples[index]!.tokens.length;
  const byLength = examples.map((_, index) => index).sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  const plain = cheapest(examples, byLength, limits);
  if (examples.every(({ silent }) => silent < shortestTrunk)) return plain.plans;
  const byBeginning = byLength.toSorted((a, b) => compareBeginnings(examples[a]!, examples[b]!));
  const sharing = cheapest(examples, byBeginning, limits);
  return sharing.cost < plain.cost ? sharing.plans : plain.plans;
}

function cheapest(examples: readonly PlannedExample[], order: readonly number[], limits: BatchLimits) {
  const startCost = limits.startCost ?? 96;
  // What neighbours share; a group shares the least of what its neighbours do.
  const shared = order.map((index, at) =>
    at === 0 ? 0 : sharedBeginning(examples[order[at - 1]!]!, examples[index]!),
  );
  // best[end]: least cost of the first `end` examples; from[end]: where its last group starts; trunks[end]: what that shares.
  const best = new Float64Array(order.length + 1).fill(Number.POSITIVE_INFINITY);
  const from = new Int32Array(order.length + 1);
  const trunks = new Int32Array(order.length + 1);
  best[0] = 0;
  for (let end = 1; end <= order.length; end++) {
    let longest = 0;
    let common = Number.POSITIVE_INFINITY;
    for (let start = end - 1; start >= 0; start--) {
      longest = Math.max(longest, examples[order[start]!]!.tokens.length);
      if (start < end - 1) common = Math.min(common, shared[start + 1]!);
      const trunk = start < end - 1 && common >= shortestTrunk ? common : 0;
      const tokens = trunk + (end - start) * paddedLength(longest - trunk);
      if (tokens > limits.maxTokens && start < end - 1) break;
      const cost = best[start]! + startCost + (trunk > 0 ? shortestTrunk : 0) + tokens;
      if (cost < best[end]!) {
        best[end] = cost;
        from[end] = start;
        trunks[end] = trunk;
      }
    }
  }
  const plans: BatchPlan[] = [];
  for (let end = order.length; end > 0; end = from[end]!) {
    const members = order.slice(from[end]!, end);
    const trunk = trunks[end]!;
    const longest = Math.max(...members.map((member) => examples[member]!.tokens.length));
    plans.push({ trunk, length: paddedLength(longest - trunk), members });
  }
  return { plans: plans.reverse(), cost: best[order.length]! };
}

/** How many tokens two examples begin with alike before either is scored. */
function sharedBeginning(a: PlannedExample, b: PlannedExample): number {
  const most = Math.min(a.silent, b.silent);
  let count = 0;
  while (count < most && a.tokens[count] === b.tokens[count]) count++;
  return count;
}

function compareBeginnings(a: PlannedExample, b: PlannedExample): number {
  const count = sharedBeginning(a, b);
  if (count === Math.min(a.silent, b.silent)) return a.silent - b.silent;
  return a.tokens[count]! - b.tokens[count]!;
}
