/**
 * From examples to batches that a graph takes. In training only targets with a weight are scored: an example without any is
 * left out, one is cut after its last, and what is before its first may be shared with others (plan-batches.ts). Where
 * nearly all targets are scored, picking them out costs more than it saves, and all are.
 */
import type { Example } from "../../../core/engine.ts";
import type { BatchShape } from "../model/row-layout.ts";
import type { HostTensor } from "../runtime/runtime.ts";
import { type BatchPlan, type PlannedExample, planBatches } from "./plan-batches.ts";

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
  const scored = examples.map(({ input }, number) => (everyLogprob ? all(input.length) : taught(factors[number]!)));
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

/** The positions whose target has a weight. */
function taught(factors: Float32Array): Int32Array {
  return all(factors.length).filter((position) => factors[position] !== 0);
}
