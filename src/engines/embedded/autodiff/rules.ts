/**
 * The differentiable operators a decoder needs, each with its vector-Jacobian rule. Activations are matrices, one row
 * per token; weights are [out, in].
 */
import type { Dimension, Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { Tape } from "./tape.ts";

/** `x Wᵀ + b`. */
export function linear(tape: Tape, x: Value, weight: Value, bias?: Value): Value {
  const { graph } = tape;
  const y = on.gemm(graph, x, weight, { transposeB: true, bias });
  tape.record(bias ? [x, weight, bias] : [x, weight], [y], ([dy], [needX, needWeight, needBias]) => [
    needX ? on.gemm(graph, dy!, weight) : undefined,
    needWeight ? weightGradient(tape, x, dy!) : undefined,
    needBias ? on.reduceSum(graph, dy!, 0, false) : undefined,
  ]);
  return y;
}

/**
 * dyᵀ x. A product whose left side must be transposed is slower than transposing the narrower side first, all the more
 * as projections of the same input (query, key, value; gate, up) share that.
 */
function weightGradient(tape: Tape, x: Value, dy: Value): Value {
  const { graph } = tape;
  const [inputs, outputs] = [x.shape[1] as number, dy.shape[1] as number];
  if (outputs < inputs) return on.gemm(graph, transposed(tape, dy), x);
  return on.turnMatrix(graph, on.gemm(graph, transposed(tape, x), dy));
}

/** The transpose of a matrix, made once per tape. */
function transposed(tape: Tape, matrix: Value): Value {
  let turned = tape.transposes.get(matrix.name);
  if (!turned) tape.transposes.set(matrix.name, (turned = on.turnMatrix(tape.graph, matrix)));
  return turned;
}

/** Sum of two values of one shape. */
export function add(tape: Tape, a: Value, b: Value): Value {
  const y = on.add(tape.graph, a, b);
  tape.record([a, b], [y], ([dy]) => [dy, dy]);
  return y;
}

export function scale(tape: Tape, a: Value, factor: number): Value {
  const times = (value: Value) => on.multiply(tape.graph, value, on.scalar(tape.graph, factor));
  const y = times(a);
  tape.record([a], [y], ([dy]) => [times(dy!)]);
  return y;
}

/**
 * Divides each row by its root mean square and scales it: `w * x / rms(x)`. With `n = x / rms`:
 * `dw = sum(dy * n)`, `dx = (w * dy - n * mean(w * dy * n)) / rms`.
 */
export function rmsNorm(tape: Tape, x: Value, weight: Value, epsilon: number): Value {
  const { graph } = tape;
  const width = weight.shape[0] as number;
  const [y, inverse] = graph.node({
    operator: "SimplifiedLayerNormalization",
    inputs: [x, weight],
    outputs: [{ shape: x.shape }, { shape: [...x.shape.slice(0, -1), 1] }],
    attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
  }) as [Value, Value];
  tape.record([x, weight], [y], ([dy], [needX, needWeight]) => {
    const normal = on.multiply(graph, x, inverse);
    const product = on.multiply(graph, dy!, normal);
    let dx: Value | undefined;
    if (needX) {
      const column = on.reshape(graph, weight, [width, 1]);
      // The row mean of (w * dy * n) as a matrix-vector product: one pass instead of three.
      const mean = on.gemm(graph, product, column, { scale: 1 / width });
      const direct = on.multiply(graph, dy!, weight);
      dx = on.multiply(graph, on.subtract(graph, direct, on.multiply(graph, normal, mean)), inverse);
    }
    return [dx, needWeight ? on.reduceSum(graph, product, 0, false) : undefined];
  });
  return y;
}

/** `silu(gate) * up`; with s the sigmoid of the gate, silu' = s + silu (1 - s). */
export function swiGlu(tape: Tape, gate: Value, up: Value): Value {
  const { graph } = tape;
  const activated = on.silu(graph, gate);
  const y = on.multiply(graph, activated, up);
  tape.record([gate, up], [y], ([dy], [needGate, needUp]) => {
    let dGate: Value | undefined;
    if (needGate) {
      const sigmoid = on.map(graph, "Sigmoid", gate);
      const slope = on.subtract(graph, on.add(graph, sigmoid, activated), on.multiply(graph, activated, sigmoid));
      dGate = on.multiply(graph, on.multiply(graph, dy!, up), slope);
    }
    return [dGate, needUp ? on.multiply(graph, dy!, activated) : undefined];
  });
  return y;
}

/** A view with other sizes: `to` and `back` are ONNX reshape rules (0 keeps a size, -1 takes the rest) or graph values. */
export function reshape(
  tape: Tape,
  a: Value,
  to: { rule: readonly number[] | Value; shape: readonly Dimension[] },
  back: readonly number[] | Value,
): Value {
  const y = on.reshapeTo(tape.graph, a, to.rule, to.shape);
  tape.record([a], [y], ([dy]) => [on.reshapeTo(tape.graph, dy!, back, a.shape)]);
  return y;
}

export function transpose(tape: Tape, a: Value, order: readonly number[]): Value {
  const y = on.transpose(tape.graph, a, order);
  const back = order.map((_, axis) => order.indexOf(axis));
  tape.record([a], [y], ([dy]) => [on.transpose(tape.graph, dy!, back)]);
  return y;
}

/**
 * Rows of a matrix by index; the index one past its end gives a row of zeros. A row is picked at most once, and `back`
 * says by which result (one past the end: by none), so the gradient is picked likewise and nothing has to be added up.
 */
export function pickRows(tape: Tape, a: Value, there: Value, back: Value): Value {
  const pick = (value: Value, indices: Value) =>
    on.gatherRows(tape.graph, on.appendZeroRow(tape.graph, value), indices);
  const y = pick(a, there);
  tape.record([a], [y], ([dy]) => [pick(dy!, back)]);
  return y;
}

/** Cuts rows in two: those before `at` and the others. */
export function splitRows(tape: Tape, a: Value, at: Value, sizes: readonly [string, string]): [Value, Value] {
  const [start, end] = [tape.graph.constant([0n], [1]), tape.graph.constant([endOfAxis], [1])];
  const first = on.sliceBetween(tape.graph, a, 0, start, at, sizes[0]);
  const second = on.sliceBetween(tape.graph, a, 0, at, end, sizes[1]);
  tape.record([a], [first, second], ([dFirst, dSecond]) => [
    on.concatTo(tape.graph, [dFirst!, dSecond!], 0, a.shape[0]!),
  ]);
  return [first, second];
}

/** The inverse: the rows of `first`, of which there are `at`, and then those of `second`. */
export function joinRows(tape: Tape, first: Value, second: Value, at: Value, size: Dimension): Value {
  const { graph } = tape;
  const [start, end] = [graph.constant([0n], [1]), graph.constant([endOfAxis], [1])];
  const y = on.concatTo(graph, [first, second], 0, size);
  tape.record([first, second], [y], ([dy]) => [
    on.sliceBetween(graph, dy!, 0, start, at, first.shape[0] as string),
    on.sliceBetween(graph, dy!, 0, at, end, second.shape[0] as string),
  ]);
  return y;
}

/**
 * Puts one shared stretch of `at` positions before every row: [1, head, at, element] and [row, head, position, element]
 * become [row, head, at + position, element]. The shared stretch gets the sum of what all rows have to say.
 */
export function prependShared(tape: Tape, shared: Value, rows: Value, at: Value): Value {
  const { graph } = tape;
  const [start, end] = [graph.constant([0n], [1]), graph.constant([endOfAxis], [1])];
  const y = on.concatTo(graph, [on.repeatFor(graph, shared, rows), rows], 2, "keys");
  tape.record([shared, rows], [y], ([dy]) => [
    on.reduceSum(graph, on.sliceBetween(graph, dy!, 2, start, at, shared.shape[2] as string), 0),
    on.sliceBetween(graph, dy!, 2, at, end, rows.shape[2] as string),
  ]);
  return y;
}

const endOfAxis = 2n ** 62n;

/** The cosines and sines of rotary positions, graph values of shape [position, pair]. */
export interface RotaryTables {
  cosine: Value;
  sine: Value;
}

/** Tables for positions 0 to `length - 1` as constants of the graph. */
export function rotaryTables(tape: Tape, options: { length: number; frequencies: Float64Array }): RotaryTables {
  const { frequencies } = options;
  const pairs = frequencies.length;
  const angles = Float64Array.from(
    { length: options.length * pairs },
    (_, index) => Math.floor(index / pairs) * frequencies[index % pairs]!,
  );
  const constant = (read: (angle: number) => number) =>
    tape.graph.constant(Float32Array.from(angles, read), [options.length, pairs]);
  return { cosine: constant(Math.cos), sine: constant(Math.sin) };
}

/**
 * Turns pair i (element i and i + half) of every head by position * frequency; the gradient turns back. [row, head,
 * position, element]. `positions` are those of every token [row, position], or that of each row's first [1].
 */
export function rotary(tape: Tape, x: Value, tables: RotaryTables, positions?: Value): Value {
  const at = positions ?? tape.graph.constant([0n], [1]);
  const turn = (value: Value, sine: Value) =>
    tape.graph.node({
      operator: "RotaryEmbedding",
      domain: "com.microsoft",
      inputs: [value, at, tables.cosine, sine],
      outputs: [{ shape: value.shape }],
    })[0]!;
  const y = turn(x, tables.sine);
  tape.record([x], [y], ([dy]) => [turn(dy!, on.map(tape.graph, "Neg", tables.sine))]);
  return y;
}
