/**
 * Causal attention and its gradient. Queries are taken in blocks; a block only meets the keys up to its own end, which
 * saves nearly half of the work of a full square and of the memory its probabilities need. Where the blocks end is an
 * input, so one graph serves rows of any length. Grouped queries cost nothing extra: the query heads that share a key
 * head are stacked as more rows of the same product.
 *
 * Backward, with P the probabilities and D = sum(dO * O) per query: dV = Pᵀ dO, dS = P * (dO Vᵀ - D), dQ = dS K,
 * dK = dSᵀ Q. Subtracting D rides along in the product as one more column of dO against a column of -1 beside V.
 */
import type { Graph, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { HostTensor } from "../runtime/runtime.ts";
import type { Tape } from "./tape.ts";

const hidden = -1e30;

/** The graph inputs that say where blocks begin and end and what each may see. */
export interface AttentionBlocks {
  /** Block i holds the positions from edge i to edge i + 1. */
  edges: Value[];
  masks: Value[]; // [block] of [1, 1, group * positions of the block, positions up to its end]
}

/** Declares the inputs for a number of blocks. */
export function attentionBlocks(graph: Graph, count: number): AttentionBlocks {
  const edges = Array.from({ length: count + 1 }, (_, index) => graph.input(`edge${index}`, "int64", [1]));
  const masks = Array.from({ length: count }, (_, index) =>
    graph.input(`mask${index}`, "float32", [1, 1, `stacked${index}`, `upto${index}`]),
  );
  return { edges, masks };
}

/** The values of those inputs for rows of `length` tokens, `group` query heads sharing a key head. */
export function attentionFeeds(length: number, count: number, group: number): Record<string, HostTensor> {
  const feeds: Record<string, HostTensor> = {};
  // Block sizes in multiples of 16 suit the matrix kernels.
  const edges = Array.from({ length: count + 1 }, (_, index) =>
    Math.min(length, Math.ceil((length * index) / count / 16) * 16),
  );
  edges.forEach((edge, index) => {
    feeds[`edge${index}`] = { data: BigInt64Array.of(BigInt(edge)), shape: [1] };
  });
  for (let index = 0; index < count; index++) {
    const [start, end] = [edges[index]!, edges[index + 1]!];
    const mask = causalMask(start, end, group);
    feeds[`mask${index}`] = { data: mask, shape: [1, 1, group * (end - start), end] };
  }
  return feeds;
}

/** `softmax(q kᵀ / sqrt(size)) v` over the past; q [row, head, position, element], k and v [row, kvHead, position, element]. */
export function causalAttention(tape: Tape, q: Value, k: Value, v: Value, blocks: AttentionBlocks): Value {
  const { graph } = tape;
  const [rows, heads, length, size] = q.shape as [string, number, string, number];
  const kvHeads = k.shape[1] as number;
  const group = heads / kvHeads;
  const scale = 1 / Math.sqrt(size);
  const { edges, masks } = blocks;
  const zero = graph.constant([0n], [1]);
  const last = masks.length - 1;

  // Size 0 in a reshape keeps the row count, which is known only when the graph runs.
  const stack = (value: Value, index: number) =>
    group === 1 ? value : on.reshapeTo(graph, value, [0, kvHeads, -1, size], [rows, kvHeads, `stacked${index}`, size]);
  const unstack = (value: Value, index: number) =>
    group === 1 ? value : on.reshapeTo(graph, value, [0, heads, -1, size], [rows, heads, `block${index}`, size]);
  const cut = (value: Value, index: number) =>
    last === 0 ? value : on.sliceBetween(graph, value, 2, edges[index]!, edges[index + 1]!, `block${index}`);
  const upTo = (value: Value, index: number) =>
    index === last ? value : on.sliceBetween(graph, value, 2, zero, edges[index + 1]!, `upto${index}`);
  const join = (parts: Value[]) => on.concatTo(graph, parts, 2, length);

  const done = masks.map((mask, index) => {
    const queries = stack(cut(q, index), index);
    const keys = upTo(k, index);
    const values = upTo(v, index);
    const scores = on.matMul(graph, queries, keys, { transposeB: true, scale });
    const probabilities = on.softmax(graph, on.add(graph, scores, mask));
    return { queries, keys, values, probabilities, result: on.matMul(graph, probabilities, values) };
  });
  const y = join(done.map(({ result }, index) => unstack(result, index)));

  tape.record([q, k, v], [y], ([dy], [needQ, needK, needV]) => {
    const dQueries: Value[] = [];
    const dKeys: Value[] = [];
    const dValues: Value[] = [];
    done.forEach(({ queries, keys, values, probabilities, result }, index) => {
      const dResult = stack(cut(dy!, index), index);
      if (needV) dValues.push(on.matMul(graph, probabilities, dResult, { transposeA: true }));
      if (!needQ && !needK) return;
      const inner = on.reduceSum(graph, on.multiply(graph, dResult, result), 3);
      const left = on.concat(graph, [dResult, inner], 3);
      const right = on.appendColumn(graph, values, -1);
      const dScores = on.multiply(graph, probabilities, on.matMul(graph, left, right, { transposeB: true }));
      if (needQ) dQueries.push(unstack(on.matMul(graph, dScores, keys, { scale }), index));
      if (needK) dKeys.push(on.matMul(graph, dScores, queries, { transposeA: true, scale }));
    });
    // Block i contributed to all positions up to its end: sum what each block of positions received from it and later ones.
    const sumUp = (parts: Value[]) => {
      const piece = (part: Value, index: number) =>
        last === 0 ? part : on.sliceBetween(graph, part, 2, edges[index]!, edges[index + 1]!, `block${index}`);
      return join(
        parts.map((_, index) =>
          on.sum(
            graph,
            parts.slice(index).map((part) => piece(part, index)),
          ),
        ),
      );
    };
    return [needQ ? join(dQueries) : undefined, needK ? sumUp(dKeys) : undefined, needV ? sumUp(dValues) : undefined];
  });
  return y;
}

/** 0 where a query may look, a very negative number where it may not; repeated for each query head of a group. */
function causalMask(start: number, end: number, group: number): Float32Array<ArrayBuffer> {
  const count = end - start;
  const mask = new Float32Array(group * count * end);
  for (let row = 0; row < group * count; row++) {
    mask.fill(hidden, row * end + start + (row % count) + 1, (row + 1) * end);
  }
  return mask;
}
