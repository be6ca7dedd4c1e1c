/**
 * Causal attention and its gradient. Queries are taken in blocks; a block uses only the keys up to its own end, which
 * saves nearly half of the work of a full square and of the memory its probabilities need. Where the blocks end and
 * what a query sees are inputs, so one graph serves rows of any length, and queries may be fewer than keys. Grouped
 * queries cost nothing extra: the query heads that share a key head are stacked as more rows of the same product.
 *
 * Backward, with P the probabilities and D = sum(dO * O) per query: dV = Pᵀ dO, dS = P * (dO Vᵀ - D), dQ = dS K, dK =
 * dSᵀ Q. D is subtracted inside the product, as one more column of dO against a column of -1 beside V. P grows with the
 * square of the length: for long rows it is computed again instead of kept, and a block ends with all three gradients before the
 * next begins: what is as large as P is then never there for two blocks.
 */
import type { Dimension, Graph, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { HostTensor } from "../runtime/runtime.ts";
import type { Tape } from "./tape.ts";

const hidden = -1e30;

/** The graph inputs that say where blocks begin and end and what each may see. */
export interface AttentionBlocks {
  /** Block i holds the queries from edge i to edge i + 1. */
  edges: Value[];
  /** Block i uses the keys before end i; ends grow. */
  keyEnds: Value[];
  masks: Value[]; // [block] of [1 or rows, 1, group * queries of the block, keys before its end]
  /** Probabilities are not kept for the gradient. */
  recompute: boolean;
  /** Before the names of its sizes. */
  name: string;
}

/** Declares the inputs for a number of blocks; `name` keeps several sets apart. */
export function attentionBlocks(graph: Graph, count: number, name = "", recompute = false): AttentionBlocks {
  const edge = (index: number) => graph.input(`${name}edge${index}`, "int64", [1]);
  const end = (index: number) => graph.input(`${name}keyEnd${index}`, "int64", [1]);
  const mask = (index: number) =>
    graph.input(`${name}mask${index}`, "float32", [`${name}seen`, 1, `${name}stacked${index}`, `${name}upto${index}`]);
  const blocks = Array.from({ length: count }, (_, index) => index);
  return { edges: [...blocks, count].map(edge), keyEnds: blocks.map(end), masks: blocks.map(mask), recompute, name };
}

/** Which queries there are and how much of the past they see. */
export interface AttentionShape {
  /** How many keys, from the first, each query sees; one row serves all rows that see the same. */
  visible: readonly Int32Array[]; // [row][query]
  keys: number;
  blocks: number;
  /** Query heads that share a key head. */
  group: number;
  name?: string;
}

/** The values of those inputs. In each row a later query must see more than an earlier one. */
export function attentionFeeds({
  visible,
  keys,
  blocks,
  group,
  name = "",
}: AttentionShape): Record<string, HostTensor> {
  const feeds: Record<string, HostTensor> = {};
  const { length } = visible[0]!;
  // Block sizes in multiples of 16 suit the matrix kernels.
  const edges = Array.from({ length: blocks + 1 }, (_, index) =>
    Math.min(length, Math.ceil((length * index) / blocks / 16) * 16),
  );
  edges.forEach((edge, index) => {
    feeds[`${name}edge${index}`] = { data: BigInt64Array.of(BigInt(edge)), shape: [1] };
  });
  for (let index = 0; index < blocks; index++) {
    const [start, end] = [edges[index]!, edges[index + 1]!];
    const keyEnd = index === blocks - 1 ? keys : Math.max(...visible.map((row) => row[end - 1]!));
    const shape = [visible.length, 1, group * (end - start), keyEnd];
    feeds[`${name}keyEnd${index}`] = { data: BigInt64Array.of(BigInt(keyEnd)), shape: [1] };
    feeds[`${name}mask${index}`] = { data: visibilityMask(visible, start, end, keyEnd, group), shape };
  }
  return feeds;
}

/** What the tokens of a row see that starts after `before` earlier keys: those, the tokens before them, and themselves. */
export function causalVisibility(length: number, before = 0): Int32Array {
  return Int32Array.from({ length }, (_, index) => before + index + 1);
}

/**
 * `softmax(q kᵀ / sqrt(size)) v` over what each query may see; q [row, head, query, element], k and v [row, kvHead, key,
 * element].
 */
export function causalAttention(tape: Tape, q: Value, k: Value, v: Value, blocks: AttentionBlocks): Value {
  const { graph } = tape;
  const [rows, heads, length, size] = q.shape as [string, number, Dimension, number];
  const kvHeads = k.shape[1] as number;
  const group = heads / kvHeads;
  const scale = 1 / Math.sqrt(size);
  const { edges, keyEnds, masks, name } = blocks;
  const keyLength = k.shape[2]!;
  const zero = graph.constant([0n], [1]);
  const last = masks.length - 1;

  // Size 0 in a reshape keeps the row count, which is known only when the graph runs.
  const stack = (value: Value, index: number) =>
    group === 1
      ? value
      : on.reshapeTo(graph, value, [0, kvHeads, -1, size], [rows, kvHeads, `${name}stacked${index}`, size]);
  const unstack = (value: Value, index: number) =>
    group === 1 ? value : on.reshapeTo(graph, value, [0, heads, -1, size], [rows, heads, `${name}block${index}`, size]);
  const cut = (value: Value, index: number) =>
    last === 0 ? value : on.sliceBetween(graph, value, 2, edges[index]!, edges[index + 1]!, `${name}block${index}`);
  const upTo = (value: Value, index: number) =>
    index === last ? value : on.sliceBetween(graph, value, 2, zero, keyEnds[index]!, `${name}upto${index}`);
  const join = (parts: Value[], size = length as Dimension) => on.concatTo(graph, parts, 2, size);

  const done = masks.map((mask, index) => {
    const queries = stack(cut(q, index), index);
    const keys = upTo(k, index);
    const values = upTo(v, index);
    const compute = () =>
      on.softmax(graph, on.add(graph, on.matMul(graph, queries, keys, { transposeB: true, scale }), mask));
    const probabilities = compute();
    const again = blocks.recompute ? compute : () => probabilities;
    return { queries, keys, values, again, result: on.matMul(graph, probabilities, values) };
  });
  const y = join(done.map(({ result }, index) => unstack(result, index)));

  tape.record([q, k, v], [y], ([dy], [needQ, needK, needV]) => {
    const dQueries: Value[] = [];
    const dKeys: Value[] = [];
    const dValues: Value[] = [];
    done.forEach(({ queries, keys, values, again, result }, index) => {
      const probabilities = again();
      const dResult = stack(cut(dy!, index), index);
      if (needV) dValues.push(on.matMul(graph, probabilities, dResult, { transposeA: true }));
      if (!needQ && !needK) return;
      const inner = on.reduceSum(graph, on.multiply(graph, dResult, result), 3);
      const left = on.concat(graph, [dResult, inner], 3);
      const right = on.appendColumn(graph, values, -1);
      const dScores = on.multiply(graph, probabilities, on.matMul(graph, left, right, { transposeB: true }));
      if (needK) dKeys.push(on.matMul(graph, dScores, queries, { transposeA: true, scale }));
      if (!needQ) return;
      const dQuery = on.matMul(graph, dScores, keys, { scale });
      const others = blocks.recompute ? [dKeys.at(-1)!, dValues.at(-1)!].filter(Boolean) : [];
      dQueries.push(unstack(on.after(graph, dQuery, others), index));
    });
    // Block i contributed to all keys before its end: sum what each stretch of keys received from it and later ones.
    const sumUp = (parts: Value[]) => {
      const piece = (part: Value, index: number) =>
        last === 0
          ? part
          : on.sliceBetween(graph, part, 2, keyEnds[index - 1] ?? zero, keyEnds[index]!, `${name}keys${index}`);
      return join(
        parts.map((_, index) =>
          on.sum(
            graph,
            parts.slice(index).map((part) => piece(part, index)),
          ),
        ),
        keyLength,
      );
    };
    return [needQ ? join(dQueries) : undefined, needK ? sumUp(dKeys) : undefined, needV ? sumUp(dValues) : undefined];
  });
  return y;
}

/** 0 where a query may look, a very negative number where it may not; repeated for each query head of a group. */
function visibilityMask(
  visible: readonly Int32Array[],
  start: number,
  end: number,
  keyEnd: number,
  group: number,
): Float32Array<ArrayBuffer> {
  const count = end - start;
  const mask = new Float32Array(visible.length * group * count * keyEnd);
  let at = 0;
  for (const row of visible) {
    for (let query = 0; query < group * count; query++, at += keyEnd) {
      mask.fill(hidden, at + row[start + (query % count)]!, at + keyEnd);
    }
  }
  return mask;
}
