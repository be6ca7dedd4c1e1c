/**
 * Muon: momentum whose matrix is replaced by the nearest one with all singular values near 1, so that every direction of
 * a weight matrix learns at the same speed. The replacement is five rounds of a polynomial (Newton-Schulz) and runs as a
 * graph, all matrices of one shape stacked in one call.
 */
import type { OptimizerStep } from "../../../core/engine.ts";
import type { Parameter } from "../model/parameters.ts";
import { createGraph, type Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { Runtime, Session } from "../runtime/runtime.ts";

const momentum = 0.95;
// Coefficients that push singular values between about 0.01 and 1 to between 0.7 and 1.2 in five rounds.
const [linear, cubic, quintic] = [3.4445, -4.775, 2.0315];
const rounds = 5;

/** One matrix with its gradient and its momentum. */
export interface MuonMatrix {
  parameter: Parameter;
  gradient: Float32Array;
  momentum: Float32Array;
}

export interface Muon {
  step(matrices: readonly MuonMatrix[], step: OptimizerStep, gradientScale: number): Promise<void>;
}

/** Opens Muon on a runtime; graphs are compiled when a shape first occurs. */
export function openMuon(runtime: Runtime): Muon {
  const sessions = new Map<string, Promise<Session>>();
  return {
    async step(matrices, step, gradientScale) {
      const byShape = Map.groupBy(matrices, ({ parameter }) => parameter.shape.join("x"));
      for (const [key, group] of byShape) {
        const [rows, columns] = group[0]!.parameter.shape as [number, number];
        let session = sessions.get(key);
        if (!session) sessions.set(key, (session = runtime.load(orthogonalizer(rows, columns))));
        const stacked = new Float32Array(group.length * rows * columns);
        group.forEach((matrix, index) => {
          look(matrix, gradientScale, stacked.subarray(index * rows * columns, (index + 1) * rows * columns));
        });
        const feeds = { input: { data: stacked, shape: [group.length, rows, columns] } };
        const { output } = await (await session).run(feeds);
        for (const [index, { parameter }] of group.entries()) apply(parameter, output!, index * rows * columns, step);
      }
    },
  };
}

/** Advances the momentum and writes the look-ahead direction. */
function look(matrix: MuonMatrix, gradientScale: number, direction: Float32Array): void {
  const { gradient, momentum: running } = matrix;
  for (let index = 0; index < gradient.length; index++) {
    const slope = gradient[index]! * gradientScale;
    const moved = momentum * running[index]! + slope;
    running[index] = moved;
    direction[index] = slope + momentum * moved;
  }
}

function apply(parameter: Parameter, output: Float32Array, start: number, step: OptimizerStep): void {
  const { data, shape } = parameter;
  const rate = step.matrixLearningRate ?? step.learningRate;
  const keep = 1 - rate * (step.weightDecay ?? 0);
  const size = rate * Math.sqrt(Math.max(1, shape[0]! / shape[1]!));
  for (let index = 0; index < data.length; index++) data[index] = data[index]! * keep - size * output[start + index]!;
}

/** The graph: [matrix, row, column] in and out. */
function orthogonalizer(rows: number, columns: number): Uint8Array {
  const graph = createGraph();
  const input = graph.input("input", "float32", ["matrices", rows, columns]);
  const flat = on.reshapeTo(graph, input, [0, -1], ["matrices", rows * columns]);
  const square = on.reduceSum(graph, on.multiply(graph, flat, flat), 1);
  const norm = on.reshapeTo(graph, on.map(graph, "Sqrt", square), [0, 1, 1], ["matrices", 1, 1]);
  let x: Value = on.divide(graph, input, on.add(graph, norm, on.scalar(graph, 1e-12)));
  const tall = rows > columns;
  for (let round = 0; round < rounds; round++) {
    const inner = on.matMul(graph, x, x, tall ? { transposeA: true } : { transposeB: true });
    const bent = on.add(
      graph,
      on.multiply(graph, inner, on.scalar(graph, cubic)),
      on.matMul(graph, inner, inner, { scale: quintic }),
    );
    const turned = tall ? on.matMul(graph, x, bent) : on.matMul(graph, bent, x);
    x = on.add(graph, on.multiply(graph, x, on.scalar(graph, linear)), turned);
  }
  graph.output("output", x);
  return graph.encode();
}
