/**
 * A decoder cut at its attentions, as graphs with constant weights: graph l takes the rows as they went into layer l - 1 and what that
 * layer attended to, and returns the rows that go into layer l with their queries, keys and values. The last one returns logits
 * of the wanted rows. Matrices are floats, or bytes with the same groups and scales as in matmul-8bit.ts.
 */
import type { ModelConfig } from "../model/config.ts";
import { embeddingName, finalNormName, headName, layerNames, type ParameterSet } from "../model/parameters.ts";
import { createGraph, type Graph, type Value } from "../onnx/graph.ts";
import { add, concat, gatherRows, gemm, multiply, scalar, silu } from "../onnx/operators.ts";
import type { Precision } from "./decoder-layout.ts";
import { groupInputs } from "./wasm/matmul-8bit.ts";

/** One of the graphs, of which there is one more than layers. */
export function wideGraph(
  config: ModelConfig,
  parameters: ParameterSet,
  precision: Precision,
  layer: number,
): Uint8Array {
  const graph = createGraph();
  const data = (name: string) => parameters.get(name)!.data;
  const vector = (name: string) => graph.weight(name, data(name), [data(name).length]);
  const project = (x: Value, name: string, biasName?: string): Value => {
    const [outputs, inputs] = parameters.get(name)!.shape as [number, number];
    const bias = biasName && config.qkvBias ? vector(biasName) : undefined;
    if (precision === "f32")
      return gemm(graph, x, graph.weight(name, data(name), [outputs, inputs]), { transposeB: true, bias });
    const { bytes, scales } = inGroups(data(name));
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
function inGroups(weights: Float32Array): { bytes: Uint8Array; scales: Float32Array } {
  const bytes = new Uint8Array(weights.length);
  const scales = new Float32Array(weights.length / groupInputs);
  for (let group = 0; group < scales.length; group++) {
    const [start, end] = [group * groupInputs, (group + 1) * groupInputs];
    let largest = 1e-20;
    for (let index = start; index < end; index++) largest = Math.max(largest, Math.abs(weights[index]!));
    scales[group] = largest / 127;
    for (let index = start; index < end; index++) bytes[index] = (weights[index]! * 127) / largest + 128.5;
  }
  return { bytes, scales };
}
