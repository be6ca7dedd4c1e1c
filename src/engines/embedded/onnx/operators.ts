/**
 * The operators our graphs are made of, each knowing the shape of its result. All are plain ONNX except three that ONNX
 * Runtime adds (`com.microsoft`): FusedMatMul, RotaryEmbedding and QuickGelu. ScatterND with `add` is deliberately
 * absent: with more than one thread ONNX Runtime loses updates to the same row.
 */
import type { Dimension, Graph, Value } from "./graph.ts";

/** Element-wise sum; `b` may broadcast. */
export const add = (graph: Graph, a: Value, b: Value): Value => elementwise(graph, "Add", a, b);

/** Element-wise difference; `b` may broadcast. */
export const subtract = (graph: Graph, a: Value, b: Value): Value => elementwise(graph, "Sub", a, b);

/** Element-wise product; `b` may broadcast. */
export const multiply = (graph: Graph, a: Value, b: Value): Value => elementwise(graph, "Mul", a, b);

/** Element-wise quotient; `b` may broadcast. */
export const divide = (graph: Graph, a: Value, b: Value): Value => elementwise(graph, "Div", a, b);

/** Applies a one-argument operator to every element. */
export function map(graph: Graph, operator: "Exp" | "Log" | "Neg" | "Sigmoid" | "Sqrt", a: Value): Value {
  return one(graph.node({ operator, inputs: [a], outputs: [{ shape: a.shape }] }));
}

export function silu(graph: Graph, a: Value): Value {
  const attributes = { alpha: { float: 1 } };
  return one(
    graph.node({
      operator: "QuickGelu",
      domain: "com.microsoft",
      inputs: [a],
      outputs: [{ shape: a.shape }],
      attributes,
    }),
  );
}

/** A float constant of shape [] that broadcasts against anything. */
export function scalar(graph: Graph, value: number): Value {
  return graph.constant(Float32Array.of(value), []);
}

/** Batched matrix product of the two last axes, with optional transposes and a factor. */
export function matMul(
  graph: Graph,
  a: Value,
  b: Value,
  options: { transposeA?: boolean; transposeB?: boolean; scale?: number } = {},
): Value {
  const rows = a.shape.at(options.transposeA ? -1 : -2)!;
  const columns = b.shape.at(options.transposeB ? -2 : -1)!;
  return one(
    graph.node({
      operator: "FusedMatMul",
      domain: "com.microsoft",
      inputs: [a, b],
      outputs: [{ shape: [...a.shape.slice(0, -2), rows, columns] }],
      attributes: {
        transA: options.transposeA ? 1 : 0,
        transB: options.transposeB ? 1 : 0,
        alpha: { float: options.scale ?? 1 },
      },
    }),
  );
}

/** Two-dimensional product `scale * a b + bias`, the bias broadcasting over rows. */
export function gemm(
  graph: Graph,
  a: Value,
  b: Value,
  options: { transposeA?: boolean; transposeB?: boolean; scale?: number; bias?: Value } = {},
): Value {
  const rows = a.shape[options.transposeA ? 1 : 0]!;
  const columns = b.shape[options.transposeB ? 0 : 1]!;
  return one(
    graph.node({
      operator: "Gemm",
      inputs: options.bias ? [a, b, options.bias] : [a, b],
      outputs: [{ shape: [rows, columns] }],
      attributes: {
        transA: options.transposeA ? 1 : 0,
        transB: options.transposeB ? 1 : 0,
        alpha: { float: options.scale ?? 1 },
      },
    }),
  );
}

/** Reshape; at most one named size, written as -1. */
export function reshape(graph: Graph, a: Value, shape: readonly Dimension[]): Value {
  const target = graph.constant(
    shape.map((size) => (typeof size === "number" ? BigInt(size) : -1n)),
    [shape.length],
  );
  return one(graph.node({ operator: "Reshape", inputs: [a, target], outputs: [{ shape, type: a.type }] }));
}

/** Reshape by ONNX's own rule (0 keeps a size, -1 takes the rest), for shapes with more than one open size. */
export function reshapeTo(graph: Graph, a: Value, rule: readonly number[] | Value, shape: readonly Dimension[]): Value {
  const target = "name" in rule ? rule : graph.constant(rule.map(BigInt), [rule.length]);
  return one(graph.node({ operator: "Reshape", inputs: [a, target], outputs: [{ shape, type: a.type }] }));
}

export function transpose(graph: Graph, a: Value, order: readonly number[]): Value {
  const shape = order.map((axis) => a.shape[axis]!);
  return one(graph.node({ operator: "Transpose", inputs: [a], outputs: [{ shape }], attributes: { perm: order } }));
}

/** A matrix transposed for real: the detour over three axes keeps ONNX Runtime from folding it into a slower product. */
export function turnMatrix(graph: Graph, a: Value): Value {
  const [rows, columns] = a.shape as [Dimension, Dimension];
  const rule = (size: Dimension) => (typeof size === "number" ? size : -1);
  const stacked = reshapeTo(graph, a, [1, rule(rows), rule(columns)], [1, rows, columns]);
  return reshapeTo(graph, transpose(graph, stacked, [0, 2, 1]), [rule(columns), rule(rows)], [columns, rows]);
}

/** The part of one axis between two graph values; `size` names the size of the result. */
export function sliceBetween(graph: Graph, a: Value, axis: number, from: Value, to: Value, size: string): Value {
  const shape = a.shape.map((other, index) => (index === axis ? size : other));
  const inputs = [a, from, to, graph.constant([BigInt(axis)], [1])];
  return one(graph.node({ operator: "Slice", inputs, outputs: [{ shape, type: a.type }] }));
}

/** `a`, not before the others are computed: nothing of the first element of each is added. */
export function after(graph: Graph, a: Value, others: readonly Value[]): Value {
  if (others.length === 0) return a;
  const first = (other: Value) => {
    const each = (value: (axis: number) => number) =>
      graph.constant(other.shape.map((_, axis) => BigInt(value(axis))), [other.shape.length]); // biome-ignore format: one line
    const inputs = [other, each(() => 0), each(() => 1), each((axis) => axis)];
    return one(graph.node({ operator: "Slice", inputs, outputs: [{ shape: other.shape.map(() => 1) }] }));
  };
  return add(graph, a, multiply(graph, sum(graph, others.map(first)), scalar(graph, 0)));
}

/** Joins values along one axis into a size known only by name. */
export function concatTo(graph: Graph, parts: readonly Value[], axis: number, size: Dimension): Value {
  if (parts.length === 1) return parts[0]!;
  const shape = parts[0]!.shape.map((other, index) => (index === axis ? size : other));
  return one(graph.node({ operator: "Concat", inputs: parts, outputs: [{ shape }], attributes: { axis } }));
}

/** Joins values along one axis of known size. */
export function concat(graph: Graph, parts: readonly Value[], axis: number): Value {
  if (parts.length === 1) return parts[0]!;
  const size = parts.reduce((total, part) => total + (part.shape[axis] as number), 0);
  const shape = parts[0]!.shape.map((other, index) => (index === axis ? size : other));
  return one(graph.node({ operator: "Concat", inputs: parts, outputs: [{ shape }], attributes: { axis } }));
}

/** One more element of a constant value at the end of the last axis. */
export function appendColumn(graph: Graph, a: Value, value: number): Value {
  const rank = a.shape.length;
  const pads = Array.from({ length: 2 * rank }, (_, index) => (index === 2 * rank - 1 ? 1n : 0n));
  const shape = [...a.shape.slice(0, -1), (a.shape.at(-1) as number) + 1];
  const inputs = [a, graph.constant(pads, [2 * rank]), scalar(graph, value)];
  return one(graph.node({ operator: "Pad", inputs, outputs: [{ shape }], attributes: { mode: "constant" } }));
}

/** One more row of zeros at the end of a matrix. */
export function appendZeroRow(graph: Graph, a: Value): Value {
  const inputs = [a, graph.constant([0n, 0n, 1n, 0n], [4]), scalar(graph, 0)];
  const outputs = [{ shape: [`${a.shape[0]} and 1`, a.shape[1]!] }];
  return one(graph.node({ operator: "Pad", inputs, outputs, attributes: { mode: "constant" } }));
}

/** A value with first size 1, repeated along it as often as `like` has entries there. */
export function repeatFor(graph: Graph, a: Value, like: Value): Value {
  const first = { start: 0, end: 1 };
  const [count] = graph.node({
    operator: "Shape",
    inputs: [like],
    outputs: [{ shape: [1], type: "int64" }],
    attributes: first,
  });
  const others = a.shape.slice(1).map(() => 1n);
  const times = graph.node({
    operator: "Concat",
    inputs: [count, graph.constant(others, [others.length])],
    outputs: [{ shape: [a.shape.length], type: "int64" }],
    attributes: { axis: 0 },
  });
  const shape = [like.shape[0]!, ...a.shape.slice(1)];
  return one(graph.node({ operator: "Expand", inputs: [a, times[0]], outputs: [{ shape }] }));
}

export function sum(graph: Graph, parts: readonly Value[]): Value {
  if (parts.length === 1) return parts[0]!;
  if (parts.length === 2) return add(graph, parts[0]!, parts[1]!);
  return one(graph.node({ operator: "Sum", inputs: parts, outputs: [{ shape: parts[0]!.shape }] }));
}

/** Sum over one axis, kept as size 1 by default. */
export function reduceSum(graph: Graph, a: Value, axis: number, keep = true): Value {
  const shape = a.shape.flatMap((size, index) => (index !== axis ? [size] : keep ? [1] : []));
  const inputs = [a, graph.constant([BigInt(axis)], [1])];
  return one(
    graph.node({ operator: "ReduceSum", inputs, outputs: [{ shape }], attributes: { keepdims: keep ? 1 : 0 } }),
  );
}

/** Softmax or its logarithm over the last axis. */
export function softmax(graph: Graph, a: Value, operator: "Softmax" | "LogSoftmax" = "Softmax"): Value {
  return one(graph.node({ operator, inputs: [a], outputs: [{ shape: a.shape }], attributes: { axis: -1 } }));
}

export function gatherRows(graph: Graph, table: Value, indices: Value): Value {
  const shape = [...indices.shape, ...table.shape.slice(1)];
  return one(
    graph.node({ operator: "Gather", inputs: [table, indices], outputs: [{ shape }], attributes: { axis: 0 } }),
  );
}

/** One element of each row: `indices` is [rows, 1]. */
export function gatherElements(graph: Graph, a: Value, indices: Value): Value {
  const outputs = [{ shape: indices.shape }];
  return one(graph.node({ operator: "GatherElements", inputs: [a, indices], outputs, attributes: { axis: 1 } }));
}

/** 1 where the comparison holds, 0 where it does not. */
export function indicator(
  graph: Graph,
  operator: "Less" | "Greater" | "GreaterOrEqual" | "LessOrEqual",
  a: Value,
  b: Value,
): Value {
  const holds = one(graph.node({ operator, inputs: [a, b], outputs: [{ shape: a.shape, type: "bool" }] }));
  return one(graph.node({ operator: "Cast", inputs: [holds], outputs: [{ shape: a.shape }], attributes: { to: 1 } }));
}

/** Limits every element to `low`..`high` (scalars). */
export function clip(graph: Graph, a: Value, low: Value, high: Value): Value {
  return one(graph.node({ operator: "Clip", inputs: [a, low, high], outputs: [{ shape: a.shape }] }));
}

function elementwise(graph: Graph, operator: string, a: Value, b: Value): Value {
  return one(graph.node({ operator, inputs: [a, b], outputs: [{ shape: a.shape }] }));
}

function one(values: Value[]): Value {
  return values[0]!;
}
