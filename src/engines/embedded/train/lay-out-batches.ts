/**
 * From examples to batches that a graph takes. In training only targets with a weight are scored: an example without any is
 * left out, one is cut after its last, and what is before its first may be shared with others (`planBatches`). Where
 * nearly all targets are scored, picking them out costs more than it saves, and all are.
 */
import type { Example } from "../../../core/engine.ts";
import type { BatchShape } from "../model/row-layout.ts";
import type { HostTensor } from "../runtime/runtime.ts";

export interface BatchFeeds {
  shape: BatchShape;
  tokens: { data: BigInt64Array; shape: number[] };
  targets: { data: BigInt64Array; shape: number[] };
  factor: HostTensor;
  old: HostTensor;
}

/** One batch, and the way back from its log-probabilities to the examples'. */
export interface LaidOutBatch {
  feeds: BatchFeeds;
  readLogprobs(from: Float32Array, into: readonly Float32Array[]): void;
}

export interface LayOutOptions {
  maxTokens: number;
  /** Every target is scored, also those of factor 0. */
  everyLogprob: boolean;
}

/** Where at least this share of the computed positions is scored, all are. */
const nearlyAll = 0.85;

/** Lays examples out, `factors` being their weights or advantages. */
export function layOutBatches(
  examples: readonly Example[],
  factors: readonly Float32Array[],
  { maxTokens, everyLogprob }: LayOutOptions,
): LaidOutBatch[] {
  const scored = examples.map(({ input }, number) =>
    all(input.length).filter((position) => everyLogprob || factors[number]![position] !== 0),
  );
  const used = scored.flatMap((positions, number) => (positions.length > 0 ? [number] : []));
  const planned = used.map((number): PlannedExample => {
    const positions = scored[number]!;
    return { tokens: examples[number]!.input.subarray(0, positions.at(-1)! + 1), silent: positions[0]! };
  });
  return planBatches(planned, { maxTokens }).map((plan) =>
    layOut(
      examples,
      factors,
      { ...plan, members: plan.members.map((member) => used[member]!) },
      plan.members.map((member) => scored[used[member]!]!),
    ),
  );
}

function layOut(
  examples: readonly Example[],
  factors: readonly Float32Array[],
  { trunk, length, members }: BatchPlan,
  scored: readonly Int32Array[],
): LaidOutBatch {
  const positions = trunk + members.length * length;
  const tokens = new BigInt64Array(positions);
  members.forEach((member, row) => {
    const { input } = examples[member]!;
    const last = scored[row]!.at(-1)!;
    for (let index = row === 0 ? 0 : trunk; index <= last; index++) {
      const at = index < trunk ? index : trunk + row * length + index - trunk;
      tokens[at] = BigInt(input[index]!);
    }
  });
  const count = scored.reduce((sum, row) => sum + row.length, 0);
  const computed = scored.reduce((sum, row) => sum + row.at(-1)! + 1, 0);
  const picks = trunk > 0 || count < nearlyAll * computed;
  const size = picks ? count : positions;
  const targets = new BigInt64Array(size);
  const factor = new Float32Array(size);
  const old = new Float32Array(size);
  let next = 0;
  const places = scored.map((row, at) => Int32Array.from(row, (position) => (picks ? next++ : at * length + position)));
  const each = (visit: (member: number, position: number, place: number) => void) => {
    members.forEach((member, row) => {
      scored[row]!.forEach((position, index) => {
        visit(member, position, places[row]![index]!);
      });
    });
  };
  each((member, position, place) => {
    const { targets: wanted, oldLogprobs } = examples[member]!;
    targets[place] = BigInt(wanted[position]!);
    factor[place] = factors[member]![position]!;
    if (oldLogprobs) old[place] = oldLogprobs[position]!;
  });
  return {
    feeds: {
      shape: {
        trunk,
        length,
        rows: members.length,
        ...(picks ? { scored: scored.map((row) => row.map((position) => position - trunk)) } : {}),
      },
      tokens: { data: tokens, shape: [positions] },
      targets: { data: targets, shape: [size] },
      factor: { data: factor, shape: [size, 1] },
      old: { data: old, shape: [size, 1] },
    },
    readLogprobs: (from, into) =>
      each((member, position, place) => {
        into[member]![position] = from[place]!;
      }),
  };
}

function all(length: number): Int32Array {
  return Int32Array.from({ length }, (_, index) => index);
}

/** What the planner knows of an example. */
interface PlannedExample {
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
interface BatchPlan {
  trunk: number;
  length: number;
  members: number[];
}

/** Fewer shared tokens than this are not worth a trunk, which costs about as much to start as this many tokens. */
const shortestTrunk = 16;

/**
 * Divides examples into groups of at most `maxTokens`, each of which costs `startCost` tokens to start. In a given order the cheapest
 * division is found exactly; two orders are tried, by length (little padding) and by beginning (long trunks).
 */
export function planBatches(
  examples: readonly PlannedExample[],
  limits: { maxTokens: number; startCost?: number },
): BatchPlan[] {
  const lengthOf = (index: number) => examples[index]!.tokens.length;
  const byLength = examples.map((_, index) => index).sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  const plain = cheapest(examples, byLength, limits);
  if (examples.every(({ silent }) => silent < shortestTrunk)) return plain.plans;
  const byBeginning = byLength.toSorted((a, b) => compareBeginnings(examples[a]!, examples[b]!));
  const sharing = cheapest(examples, byBeginning, limits);
  return sharing.cost < plain.cost ? sharing.plans : plain.plans;
}

function cheapest(
  examples: readonly PlannedExample[],
  order: readonly number[],
  limits: Parameters<typeof planBatches>[1],
) {
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
