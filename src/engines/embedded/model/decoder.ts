/**
 * The decoder, written once. Everything else follows from this function: the training graph is its derivative, the
 * scoring graph is it alone. Activations are one row per token; only attention sees sequences and positions apart. Padding
 * sits at the end of a sequence, where causal attention never looks, so it needs no mask.
 *
 * Two things are not computed twice or for nothing (row-layout.ts). Tokens that all sequences of a batch begin with come
 * once, as a trunk before the others. And where only some positions are scored, the last layer makes keys and values of all
 * tokens but queries, attention and everything after them of the scored positions alone.
 */
import { causalAttention } from "../autodiff/causal-attention.ts";
import {
  add,
  joinRows,
  pickRows,
  prependShared,
  reshape,
  rmsNorm,
  rotary,
  splitRows,
  swiGlu,
  transpose,
} from "../autodiff/rules.ts";
import { computedAgain, type Tape } from "../autodiff/tape.ts";
import type { Value } from "../onnx/graph.ts";
import type { ModelConfig } from "./config.ts";
import { finalNormName, layerNames } from "./parameters.ts";
import type { RowLayout, Stretch } from "./row-layout.ts";

/** What the forward function reads: weights by Hugging Face name, and how a projection is done (it may carry an adapter). */
export interface DecoderWeights {
  get(name: string): Value;
  project(tape: Tape, x: Value, name: string, bias?: Value): Value;
  /** All of a layer, those of an adapter too. */
  ofLayer(layer: number): Value[];
}

/**
 * From embedded tokens [tokens, hidden] to normed final states of the scored positions, of all tokens by default. With `again` a layer
 * keeps its input alone, and the rest of it is computed again for the gradient; the last one is at hand when its gradient comes.
 */
export function decoder(
  tape: Tape,
  config: ModelConfig,
  weights: DecoderWeights,
  embedded: Value,
  layout: RowLayout,
  again = false,
): Value {
  const last = config.layers - 1;
  let x = embedded;
  for (let layer = 0; layer <= last; layer++) {
    const scored = layer === last ? layout.scored : undefined;
    const build = (on: Tape, input: Value) => decoderLayer(on, config, weights, input, { ...layout, scored }, layer);
    x = again && layer < last ? computedAgain(tape, x, weights.ofLayer(layer), build) : build(tape, x);
  }
  return rmsNorm(tape, x, weights.get(finalNormName), config.rmsEpsilon);
}

/** One layer; where the layout has scored positions, of these alone. */
function decoderLayer(
  tape: Tape,
  config: ModelConfig,
  weights: DecoderWeights,
  input: Value,
  layout: RowLayout,
  layer: number,
): Value {
  const { scored } = layout;
  const names = layerNames(layer);
  const normed = rmsNorm(tape, input, weights.get(names.inputNorm), config.rmsEpsilon);
  const heads = headReader(tape, config, weights, normed, layer);
  const pick = (value: Value) => (scored ? pickRows(tape, value, scored.tokens, scored.numbers) : value);
  const start = pick(input);
  const mixed = scored ? scoredAttention(tape, heads, layout, pick(normed)) : attention(tape, heads, layout);
  const x = add(tape, start, weights.project(tape, mixed, names.outputWeight));
  const inner = rmsNorm(tape, x, weights.get(names.postNorm), config.rmsEpsilon);
  const gate = weights.project(tape, inner, names.gateWeight);
  const up = weights.project(tape, inner, names.upWeight);
  return add(tape, x, weights.project(tape, swiGlu(tape, gate, up), names.downWeight));
}

/** Queries, keys and values of one layer, a row per token. */
interface HeadReader {
  query(x?: Value): Value;
  key(): Value;
  value(): Value;
  headSize: number;
}

function headReader(
  tape: Tape,
  config: ModelConfig,
  weights: DecoderWeights,
  normed: Value,
  layer: number,
): HeadReader {
  const names = layerNames(layer);
  const { headSize } = config;
  const read = (x: Value, weight: string, bias: string, heads: number, norm?: string) => {
    const flat = weights.project(tape, x, weight, config.qkvBias ? weights.get(bias) : undefined);
    if (norm === undefined || !config.qkNorm) return flat;
    // Norms work on rows: a head of a token is one.
    const width = heads * headSize;
    const each = reshape(tape, flat, { rule: [-1, headSize], shape: [`heads of ${weight}`, headSize] }, [-1, width]);
    const even = rmsNorm(tape, each, weights.get(norm), config.rmsEpsilon);
    return reshape(tape, even, { rule: [-1, width], shape: flat.shape }, [-1, headSize]);
  };
  return {
    query: (x = normed) => read(x, names.queryWeight, names.queryBias, config.heads, names.queryNorm),
    key: () => read(normed, names.keyWeight, names.keyBias, config.kvHeads, names.keyNorm),
    value: () => read(normed, names.valueWeight, names.valueBias, config.kvHeads),
    headSize,
  };
}

/** Every token looks at those before it: the trunk at itself, each sequence at the trunk and itself. */
function attention(tape: Tape, heads: HeadReader, layout: RowLayout): Value {
  const { rows, trunk, tables } = layout;
  const [query, key, value] = [heads.query(), heads.key(), heads.value()];
  const own = keysAndValues(tape, heads, layout, key, value);
  const turned = (flat: Value, stretch: Stretch) =>
    rotary(tape, split(tape, flat, stretch, heads.headSize), tables, stretch.positions);
  if (!trunk) {
    return merge(tape, causalAttention(tape, turned(query, rows), own.keys, own.values, rows.blocks), rows, query);
  }
  const [first, others] = splitRows(tape, query, trunk.size, ["trunk", "branches"]);
  const shared = causalAttention(tape, turned(first, trunk), own.trunkKeys!, own.trunkValues!, trunk.blocks);
  const apart = causalAttention(tape, turned(others, rows), own.keys, own.values, rows.blocks);
  const merged = [merge(tape, shared, trunk, first), merge(tape, apart, rows, others)] as const;
  return joinRows(tape, ...merged, trunk.size, query.shape[0]!);
}

/** The scored positions alone look at those before them. Their rows are padded at the beginning to one length. */
function scoredAttention(tape: Tape, heads: HeadReader, layout: RowLayout, picked: Value): Value {
  const scored = layout.scored!;
  const own = keysAndValues(tape, heads, layout, heads.key(), heads.value());
  const query = heads.query(picked);
  const padded = pickRows(tape, query, scored.slots, scored.places);
  const turned = rotary(tape, split(tape, padded, scored, heads.headSize), layout.tables, scored.positions);
  const mixed = causalAttention(tape, turned, own.keys, own.values, scored.blocks);
  return pickRows(tape, merge(tape, mixed, scored, padded), scored.places, scored.slots);
}

/** Keys and values of every sequence, those of the trunk before its own, and the trunk's alone. */
function keysAndValues(tape: Tape, heads: HeadReader, { rows, trunk, tables }: RowLayout, key: Value, value: Value) {
  const turn = (flat: Value, stretch: Stretch) =>
    rotary(tape, split(tape, flat, stretch, heads.headSize), tables, stretch.positions);
  if (!trunk) return { keys: turn(key, rows), values: split(tape, value, rows, heads.headSize) };
  const [firstKey, otherKeys] = splitRows(tape, key, trunk.size, ["trunk", "branches"]);
  const [firstValue, otherValues] = splitRows(tape, value, trunk.size, ["trunk", "branches"]);
  const [trunkKeys, trunkValues] = [turn(firstKey, trunk), split(tape, firstValue, trunk, heads.headSize)];
  return {
    trunkKeys,
    trunkValues,
    keys: prependShared(tape, trunkKeys, turn(otherKeys, rows), trunk.size),
    values: prependShared(tape, trunkValues, split(tape, otherValues, rows, heads.headSize), trunk.size),
  };
}

/** From a row per token to [row, head, position, element]. */
function split(tape: Tape, flat: Value, stretch: Stretch, headSize: number): Value {
  const width = flat.shape[1] as number;
  const shape = [stretch.rows, stretch.length, width / headSize, headSize];
  return transpose(tape, reshape(tape, flat, { rule: stretch.headRule, shape }, [-1, width]), [0, 2, 1, 3]);
}

/** And back, to the shape of `like`. */
function merge(tape: Tape, mixed: Value, stretch: Stretch, like: Value): Value {
  const width = like.shape[1] as number;
  const rule = { rule: [-1, width], shape: like.shape };
  return reshape(tape, transpose(tape, mixed, [0, 2, 1, 3]), rule, stretch.headRule);
}
