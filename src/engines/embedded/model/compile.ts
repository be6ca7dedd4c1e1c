/**
 * Compiles the decoder into the two graphs the trainer runs: `training` (forward, loss slope, backward) and `scoring`
 * (forward only). The number of rows, their lengths and which of their positions are scored stay open.
 */
import { add, linear, scale } from "../autodiff/rules.ts";
import { createTape, gradients, type Tape } from "../autodiff/tape.ts";
import type { Adapter } from "../lora/adapter.ts";
import { chunkedHead, type LossInputs } from "../loss/chunked-head.ts";
import { createGraph, type Graph, type Value } from "../onnx/graph.ts";
import { gatherRows } from "../onnx/operators.ts";
import type { ModelConfig } from "./config.ts";
import { type DecoderWeights, decoder } from "./decoder.ts";
import { embeddingName, headName, parameterShapes } from "./parameters.ts";
import { type LayoutBlocks, rowLayout } from "./row-layout.ts";

/** What a graph is compiled for. */
export interface CompileOptions {
  kind: "training" | "scoring";
  /** Which parts a batch has, and into how many blocks attention cuts each. */
  blocks: LayoutBlocks;
  /** In how many pieces the logits are computed (see chunked-head.ts); 1 when absent. */
  headChunks?: number;
  /** Names of the parameters whose gradients are wanted; all of the model's when absent. */
  trainable?: ReadonlySet<string>;
  /** Low-rank additions to some weights; their tensors become inputs too. */
  adapter?: Adapter;
}

export type CompiledGraph = ReturnType<typeof compile>;

/** Builds one graph. Inputs: `tokens`, `targets` of what is scored, the layout, the loss numbers, every parameter by name. */
export function compile(config: ModelConfig, options: CompileOptions) {
  const graph = createGraph();
  const tape = createTape(graph);
  const weights = new Map<string, Value>();
  for (const [name, shape] of parameterShapes(config)) weights.set(name, graph.input(name, "float32", shape));
  for (const [name, { shape }] of options.adapter?.parameters ?? []) {
    weights.set(name, graph.input(name, "float32", shape));
  }
  const tokens = graph.input("tokens", "int64", ["tokens"]);
  const scored = options.blocks.scored ? "scored" : "tokens";
  const targets = graph.input("targets", "int64", [scored]);
  const head = weights.get(config.tieEmbeddings ? embeddingName : headName)!;

  const embedded = gatherRows(graph, weights.get(embeddingName)!, tokens);
  const states = decoder(
    tape,
    config,
    readWeights(weights, options.adapter),
    embedded,
    rowLayout(tape, config, options.blocks),
    options.kind === "training" && options.blocks.again,
  );
  const wants = (name: string) => options.trainable?.has(name) ?? true;
  const tables = { embedding: wants(embeddingName), head: wants(config.tieEmbeddings ? embeddingName : headName) };
  const loss = options.kind === "training" ? lossInputs(graph, scored) : undefined;
  const chunks = options.headChunks ?? 1;
  const { logprobs, gradients: back } = chunkedHead(graph, {
    states,
    head,
    targets,
    sharpness: graph.input("sharpness", "float32", []),
    loss,
    needHead: tables.head,
    chunks,
  });
  graph.output("logprobs", logprobs);
  if (!back) return { graph, gradientNames: [] as string[], tableRows: { embedding: false, head: false } };

  const inner = [...weights].filter(([name]) => name !== embeddingName && name !== headName && wants(name));
  const wanted = [...inner.map(([, value]) => value), ...(tables.embedding ? [embedded] : [])];
  const found = gradients(tape, [[states, back.states]], wanted);
  const gradientNames: string[] = []; // each is returned under `gradient:<name>`
  const give = (name: string, value: Value) => {
    graph.output(`gradient:${name}`, value);
    gradientNames.push(name);
  };
  for (const [index, [name]] of inner.entries()) give(name, found[index]!);
  if (tables.head) {
    give(config.tieEmbeddings ? embeddingName : headName, back.head!);
    graph.output("headRows", back.headRows!);
  }
  if (tables.embedding) graph.output("embeddingRows", found.at(-1)!);
  return { graph, gradientNames, tableRows: tables };
}

function lossInputs(graph: Graph, scored: string): LossInputs {
  const scalar = (name: string) => graph.input(name, "float32", []);
  return {
    factor: graph.input("factor", "float32", [scored, 1]),
    old: graph.input("old", "float32", [scored, 1]),
    floor: scalar("floor"),
    ceiling: scalar("ceiling"),
    low: scalar("low"),
    high: scalar("high"),
    dual: scalar("dual"),
  };
}

function readWeights(weights: Map<string, Value>, adapter: Adapter | undefined): DecoderWeights {
  const get = (name: string) => weights.get(name)!;
  const project = (tape: Tape, x: Value, name: string, bias?: Value) => {
    const plain = linear(tape, x, get(name), bias);
    const pair = adapter?.pairs.get(name);
    if (!adapter || !pair) return plain;
    const addition = linear(tape, linear(tape, x, get(pair.down)), get(pair.up));
    return add(tape, plain, scale(tape, addition, adapter.alpha / adapter.rank));
  };
  const ofLayer = (layer: number) =>
    [...weights].flatMap(([name, value]) => (name.includes(`layers.${layer}.`) ? [value] : []));
  return { get, project, ofLayer };
}
