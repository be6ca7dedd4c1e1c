/**
 * The decoder, written once. Everything else follows from this function: the training graph is its derivative, the
 * scoring graph is it alone. Activations are one row per token, [rows * length, hidden]; only attention sees rows and
 * positions apart. Padding sits at the end of a row, where causal attention never looks, so it needs no mask.
 */
import { type AttentionBlocks, attentionBlocks, causalAttention } from "../autodiff/causal-attention.ts";
import {
  add,
  type RotaryTables,
  reshape,
  rmsNorm,
  rotary,
  rotaryTables,
  swiGlu,
  transpose,
} from "../autodiff/rules.ts";
import type { Tape } from "../autodiff/tape.ts";
import type { Value } from "../onnx/graph.ts";
import type { ModelConfig } from "./config.ts";
import { finalNormName, layerNames } from "./parameters.ts";
import { rotaryFrequencies } from "./rotary.ts";

/** What the forward function reads: weights by Hugging Face name, and how a projection is done (it may carry an adapter). */
export interface DecoderWeights {
  get(name: string): Value;
  project(tape: Tape, x: Value, name: string, bias?: Value): Value;
}

/** Rows of how many tokens, cut into how many attention blocks: graph inputs, so that one graph takes any length. */
export interface RowLayout {
  /** [rows, length, -1, head size], the reshape rule that separates rows, positions and heads. */
  headRule: Value;
  blocks: AttentionBlocks;
  tables: RotaryTables;
}

/** Declares the inputs of a layout and the rotary tables up to the model's longest context. */
export function rowLayout(tape: Tape, config: ModelConfig, blockCount: number): RowLayout {
  return {
    headRule: tape.graph.input("headRule", "int64", [4]),
    blocks: attentionBlocks(tape.graph, blockCount),
    tables: rotaryTables(tape, { length: config.maxContext, frequencies: rotaryFrequencies(config) }),
  };
}

/** From embedded tokens [rows * length, hidden] to normed final states of the same shape. */
export function decoder(
  tape: Tape,
  config: ModelConfig,
  weights: DecoderWeights,
  embedded: Value,
  layout: RowLayout,
): Value {
  let x = embedded;
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    const normed = rmsNorm(tape, x, weights.get(names.inputNorm), config.rmsEpsilon);
    x = add(tape, x, attention(tape, config, weights, normed, layer, layout));
    const inner = rmsNorm(tape, x, weights.get(names.postNorm), config.rmsEpsilon);
    const gate = weights.project(tape, inner, names.gateWeight);
    const up = weights.project(tape, inner, names.upWeight);
    x = add(tape, x, weights.project(tape, swiGlu(tape, gate, up), names.downWeight));
  }
  return rmsNorm(tape, x, weights.get(finalNormName), config.rmsEpsilon);
}

function attention(
  tape: Tape,
  config: ModelConfig,
  weights: DecoderWeights,
  x: Value,
  layer: number,
  layout: RowLayout,
): Value {
  const names = layerNames(layer);
  const { headSize } = config;
  const headsOf = (weight: string, bias: string, heads: number, norm?: string) => {
    let flat = weights.project(tape, x, weight, config.qkvBias ? weights.get(bias) : undefined);
    let width = heads * headSize;
    if (norm !== undefined && config.qkNorm) {
      // Norms work on rows: a head of a token is one.
      const rows = `heads of ${weight}`;
      const each = reshape(tape, flat, { rule: [-1, headSize], shape: [rows, headSize] }, [-1, width]);
      flat = rmsNorm(tape, each, weights.get(norm), config.rmsEpsilon);
      width = headSize;
    }
    const shape = ["rows", "length", heads, headSize];
    const split = reshape(tape, flat, { rule: layout.headRule, shape }, [-1, width]);
    return transpose(tape, split, [0, 2, 1, 3]);
  };
  const query = rotary(tape, headsOf(names.queryWeight, names.queryBias, config.heads, names.queryNorm), layout.tables);
  const key = rotary(tape, headsOf(names.keyWeight, names.keyBias, config.kvHeads, names.keyNorm), layout.tables);
  const value = headsOf(names.valueWeight, names.valueBias, config.kvHeads);
  const mixed = transpose(tape, causalAttention(tape, query, key, value, layout.blocks), [0, 2, 1, 3]);
  const width = config.heads * config.headSize;
  const merged = reshape(tape, mixed, { rule: [-1, width], shape: [x.shape[0]!, width] }, layout.headRule);
  return weights.project(tape, merged, names.outputWeight);
}
