/**
 * Where many rows meet, as in reading a context, ONNX Runtime multiplies about twice as fast as WebAssembly. A thread of its own runs
 * its graphs, because they can't be waited for here; attention stays in WebAssembly, over the same pages. The caller blocks
 * until the step is done, as it does for its tiles. Results are equal to those of the tiles up to rounding, not to the last bit.
 */
import { startThread } from "../../../base/work/thread.ts";
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import {
  elementCount,
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type Parameter,
  type ParameterSet,
  parameterCount,
  piecesOf,
} from "../model/parameters.ts";
import { createGraph, type Graph, type Value } from "../onnx/graph.ts";
import { add, concat, gatherRows, gemm, multiply, scalar, silu } from "../onnx/operators.ts";
import { runtimeThread } from "../runtime/runtime-thread.ts";
import { controlWords, type Precision } from "./decoder-layout.ts";
import type { TileThreadData } from "./run-tile.ts";
import { groupInputs } from "./wasm/matmul-8bit.ts";

/** Smaller models stay in WebAssembly, where results are the same to the last bit. */
const fewest = 50e6;
const mostBytes = 1e9;

export function isWide(config: ModelConfig, precision: Precision = "f32"): boolean {
  const count = parameterCount(config);
  const { hiddenSize, headSize, heads, intermediateSize } = config;
  const whole = [hiddenSize, heads * headSize, intermediateSize].every((size) => size % groupInputs === 0);
  return count > fewest && count * (precision === "f32" ? 4 : 1) <= mostBytes && whole && headSize % 8 === 0;
}

export type WideThreadData = Pick<TileThreadData, "module" | "memory" | "layout"> & {
  config: ModelConfig;
  threads: number;
};

/** What the thread is told: a graph of the next weights, or to compute the wide tile. */
export type ToWideThread = { graph: Uint8Array<ArrayBuffer>; index: number } | "run";

export const wideStates = { busy: 0, done: 1, failed: 2, absent: 3 } as const;

export function startWideThread(data: WideThreadData, parameters: ParameterSet) {
  const control = new Int32Array(data.memory.buffer, 0, 16);
  const thread = startThread(new URL("./wide-worker.ts", import.meta.url), {
    name: "a sampling thread",
    boundary: "engine",
    data,
    resourceLimits: runtimeThread,
  });
  let loaded = false;
  const begin = (message: ToWideThread) => {
    Atomics.store(control, controlWords.wide, wideStates.busy);
    thread.post(message, message === "run" ? [] : [message.graph.buffer]);
  };
  const wait = (): number => {
    for (let silent = 0; silent < 20; silent++) {
      const state = Atomics.load(control, controlWords.wide);
      if (state === wideStates.failed) throw new CoaError("engine", "ONNX Runtime failed in a sampling thread");
      if (state !== wideStates.busy) return state;
      Atomics.wait(control, controlWords.wide, wideStates.busy, 30_000);
    }
    throw new CoaError("engine", "a sampling thread stopped answering; open the engine again");
  };
  const load = () => {
    loaded = true;
    for (let index = 0; loaded && index <= data.config.layers; index++) {
      begin({ graph: wideGraph(data.config, parameters, data.layout.precision, index), index });
      loaded = wait() === wideStates.done;
    }
  };
  load();
  return {
    load,
    get ready(): boolean {
      return loaded;
    },
    run(): void {
      begin("run");
      wait();
    },
    close: (): void => void thread.close(),
  };
}

/** One of the graphs, of which there is one more than layers. */
function wideGraph(
  config: ModelConfig,
  parameters: ParameterSet,
  precision: Precision,
  layer: number,
): Uint8Array<ArrayBuffer> {
  const graph = createGraph();
  const data = (name: string) => parameters.get(name)!.data;
  const vector = (name: string) => graph.weight(name, data(name), parameters.get(name)!.shape);
  const project = (x: Value, name: string, biasName?: string): Value => {
    const [outputs, inputs] = parameters.get(name)!.shape as [number, number];
    const bias = biasName && config.qkvBias ? vector(biasName) : undefined;
    if (precision === "f32")
      return gemm(graph, x, graph.weight(name, data(name), [outputs, inputs]), { transposeB: true, bias });
    const { bytes, scales } = inGroups(parameters.get(name)!);
    const groups = inputs / groupInputs;
    const attributes = { K: inputs, N: outputs, bits: 8, block_size: groupInputs, accuracy_level: 4 };
    const [product] = graph.node({
      operator: "MatMulNBits",
      domain: "com.microsoft",
      inputs: [
        x,
        graph.weight(name, bytes, [outputs, groups, groupInputs]),
        graph.weight(`${name} scales`, scales, [outputs, groups]),
      ],
      outputs: [{ shape: [x.shape[0]!, outputs] }],
      attributes,
    });
    return bias ? add(graph, product!, bias) : product!;
  };
  const norm = (x: Value, name: string) => rmsNorm(graph, x, vector(name), config.rmsEpsilon);

  let x = graph.input("x", "float32", ["rows", config.hiddenSize]);
  if (layer > 0) {
    const names = layerNames(layer - 1);
    const attended = graph.input("attended", "float32", ["rows", config.heads * config.headSize]);
    x = add(graph, x, project(attended, names.outputWeight));
    const normed = norm(x, names.postNorm);
    const inner = multiply(graph, silu(graph, project(normed, names.gateWeight)), project(normed, names.upWeight));
    x = add(graph, x, project(inner, names.downWeight));
  }
  if (layer === config.layers) {
    const wanted = gatherRows(graph, x, graph.input("wanted", "int64", ["wanted"]));
    graph.output("logits", project(norm(wanted, finalNormName), config.tieEmbeddings ? embeddingName : headName));
    return graph.encode();
  }
  const names = layerNames(layer);
  const normed = norm(x, names.inputNorm);
  const query = project(normed, names.queryWeight, names.queryBias);
  // As in pack-weights.ts: where queries have a norm, its weights carry the factor.
  const scaled = config.qkNorm ? query : multiply(graph, query, scalar(graph, 1 / Math.sqrt(config.headSize)));
  const others = [project(normed, names.keyWeight, names.keyBias), project(normed, names.valueWeight, names.valueBias)];
  if (layer > 0) graph.output("rows", x);
  graph.output("qkv", concat(graph, [scaled, ...others], 1));
  return graph.encode();
}

function rmsNorm(graph: Graph, x: Value, weight: Value, epsilon: number): Value {
  const [normed] = graph.node({
    operator: "SimplifiedLayerNormalization",
    inputs: [x, weight],
    outputs: [{ shape: x.shape }],
    attributes: { axis: -1, epsilon: { float: epsilon } },
  });
  return normed!;
}

/** Weights as bytes around 128, with the scale of every group. */
function inGroups(parameter: Parameter): { bytes: Uint8Array; scales: Float32Array } {
  const bytes = new Uint8Array(elementCount(parameter.shape));
  const scales = new Float32Array(bytes.length / groupInputs);
  for (const { start: from, numbers } of piecesOf(parameter))
    for (let start = 0; start < numbers.length; start += groupInputs) {
      const end = start + groupInputs;
      let largest = 1e-20;
      for (let index = start; index < end; index++) largest = Math.max(largest, Math.abs(numbers[index]!));
      scales[(from + start) / groupInputs] = largest / 127;
      for (let index = start; index < end; index++) bytes[from + index] = (numbers[index]! * 127) / largest + 128.5;
    }
  return { bytes, scales };
}
