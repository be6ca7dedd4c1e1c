/**
 * Chooses the rule for every tensor and owns the optimizer's memory: AdamW for everything, or Muon for the layers'
 * matrices with AdamW for embeddings, head, norms and biases.
 */
import type { OptimizerStep } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import { embeddingName, headName, type Parameter, type ParameterSet } from "../model/parameters.ts";
import { createGraph, type Value } from "../onnx/graph.ts";
import * as on from "../onnx/operators.ts";
import type { Runtime, Session } from "../runtime/runtime.ts";

export type OptimizerName = "adamw" | "muon";

export type Optimizer = ReturnType<typeof openOptimizer>;

export function openOptimizer(name: OptimizerName, parameters: ParameterSet, runtime: Runtime) {
  const muon = name === "muon" ? openMuon(runtime) : undefined;
  const usesMuon = (key: string) =>
    muon !== undefined && parameters.get(key)!.shape.length === 2 && key !== embeddingName && key !== headName;
  let steps = 0;
  let memory = new Map<string, ReturnType<typeof adamMoments>>();
  const memoryOf = (key: string) => {
    const size = parameters.get(key)!.data.length;
    let entry = memory.get(key);
    // Muon keeps one running mean only.
    if (!entry)
      memory.set(
        key,
        (entry = usesMuon(key) ? { ...adamMoments(0), first: new Float32Array(size) } : adamMoments(size)),
      );
    return entry;
  };
  return {
    name,
    /** Steps taken so far, those before a restored state included. */
    get steps() {
      return steps;
    },
    /** Updates every parameter that has a gradient; returns the norm the gradients had before clipping. */
    async step(
      target: ParameterSet,
      gradients: ReadonlyMap<string, Float32Array>,
      step: OptimizerStep,
    ): Promise<number> {
      const norm = gradientNorm(gradients);
      const limit = step.gradientClip ?? 0;
      const scale = limit > 0 && norm > limit ? limit / norm : 1;
      steps++;
      const matrices = [];
      for (const [key, gradient] of gradients) {
        const parameter = target.get(key)!;
        if (usesMuon(key)) matrices.push({ parameter, gradient, momentum: memoryOf(key).first });
        else adamW(parameter, gradient, memoryOf(key), step, steps, scale);
      }
      if (matrices.length > 0) await muon!.step(matrices, step, scale);
      return norm;
    },
    /** Everything that must be saved to continue later. */
    state(): { steps: number; tensors: ParameterSet } {
      const tensors: ParameterSet = new Map();
      for (const [key, { first, second }] of memory) {
        const { shape } = parameters.get(key)!;
        tensors.set(`first:${key}`, { shape, data: first });
        if (second.length > 0) tensors.set(`second:${key}`, { shape, data: second });
      }
      return { steps, tensors };
    },
    restore(state: { steps: number; tensors: ParameterSet }, source: string): void {
      const restored: typeof memory = new Map();
      for (const [tensorName, tensor] of state.tensors) {
        const [kind, key] = split(tensorName);
        const expected = parameters.get(key);
        if (!expected || (kind !== "first" && kind !== "second") || expected.data.length !== tensor.data.length) {
          throw new CoaError(
            "format",
            `${source}: tensor ${tensorName} [${tensor.shape}] does not belong to this model`,
          );
        }
        const entry = restored.get(key) ?? adamMoments(0);
        entry[kind] = Float32Array.from(tensor.data);
        restored.set(key, entry);
      }
      for (const [key, entry] of restored) {
        if (entry.first.length === 0 || (entry.second.length === 0) !== usesMuon(key)) {
          throw new CoaError(
            "format",
            `${source} was written by another optimizer than ${name} (tensor ${key}); open the engine with that one`,
          );
        }
      }
      memory = restored;
      steps = state.steps;
    },
  };
}

/** The Euclidean norm over all gradients; throws, naming the tensor, when one is not a number. */
function gradientNorm(gradients: ReadonlyMap<string, Float32Array>): number {
  let total = 0;
  for (const [key, gradient] of gradients) {
    let squares = 0;
    for (let index = 0; index < gradient.length; index++) squares += gradient[index]! * gradient[index]!;
    if (!Number.isFinite(squares)) {
      throw new CoaError(
        "engine",
        `the gradient of ${key} is not finite; the weights were left as they were. Lower the learning rate or load an earlier state`,
      );
    }
    total += squares;
  }
  return Math.sqrt(total);
}

function split(name: string): [string, string] {
  const colon = name.indexOf(":");
  return [name.slice(0, colon), name.slice(colon + 1)];
}

/** The two running means of one tensor. */
function adamMoments(size: number) {
  return { first: new Float32Array(size), second: new Float32Array(size) };
}

/** Updates one tensor in place; decay touches matrices only. `count` is the number of this step, from 1; `gradientScale` multiplies the gradient first. */
function adamW(
  parameter: Parameter,
  gradient: Float32Array,
  { first, second }: ReturnType<typeof adamMoments>,
  step: OptimizerStep,
  count: number,
  gradientScale: number,
): void {
  const { data } = parameter;
  const beta1 = step.beta1 ?? 0.9;
  const beta2 = step.beta2 ?? 0.95;
  const epsilon = step.epsilon ?? 1e-8;
  const keep = 1 - step.learningRate * (parameter.shape.length > 1 ? (step.weightDecay ?? 0) : 0);
  const rate = step.learningRate / (1 - beta1 ** count);
  const secondScale = 1 / (1 - beta2 ** count);
  for (let index = 0; index < data.length; index++) {
    const slope = gradient[index]! * gradientScale;
    const mean = beta1 * first[index]! + (1 - beta1) * slope;
    const square = beta2 * second[index]! + (1 - beta2) * slope * slope;
    first[index] = mean;
    second[index] = square;
    data[index] = data[index]! * keep - (rate * mean) / (Math.sqrt(square * secondScale) + epsilon);
  }
}

const momentum = 0.95;
// Coefficients that push singular values between about 0.01 and 1 to between 0.7 and 1.2 in five rounds.
const [linear, cubic, quintic] = [3.4445, -4.775, 2.0315];
const rounds = 5;

/** One matrix with its gradient and its momentum. */
interface MuonMatrix {
  parameter: Parameter;
  gradient: Float32Array;
  momentum: Float32Array;
}

/**
 * Muon: momentum whose matrix is replaced by the nearest one with all singular values near 1 (Newton-Schulz), so that every
 * direction of a weight matrix learns at the same speed. Graphs are compiled when a shape first occurs.
 */
function openMuon(runtime: Runtime) {
  const sessions = new Map<string, Promise<Session>>();
  return {
    async step(matrices: readonly MuonMatrix[], step: OptimizerStep, gradientScale: number): Promise<void> {
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
