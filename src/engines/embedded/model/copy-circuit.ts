/**
 * A working copy mechanism written into plain Qwen2 weights before training starts. Small models need most of their
 * training to learn to copy names and numbers from their context; these weights already do it, roughly, and training
 * improves them.
 *
 * Layer 0, heads 0 and 1 look one and two tokens back: their query and key are constants (biases) on the fast rotary
 * frequencies, so the score depends on the distance alone. They write a short code of that token into two subspaces
 * that the embedding leaves empty. Layer 1, head 0 asks "where was my token the previous one?" (head 1: my two last
 * tokens) by comparing codes on the slow frequencies, which hardly turn with distance, and copies the token found there
 * to the output.
 */

import type { SeededRandom } from "../../../base/work/random.ts";
import { UsageError } from "../../../core/errors.ts";
import type { ModelConfig } from "./config.ts";
import { embeddingName, finalNormName, layerNames, type Parameter, type ParameterSet } from "./parameter-set.ts";

/** Strengths of the circuit, found by trying: strong enough to copy from the start, weak enough to keep learning. */
const strength = { distance: 7, code: 0.3, match: 1.9, copy: 1.5, finalNorm: 0.4, others: 0.15 };

/** Overwrites the first two heads of the first two layers, the embedding and the final norm. */
export function installCopyCircuit(config: ModelConfig, parameters: ParameterSet, random: SeededRandom): void {
  if (!config.qkvBias || config.layers < 2 || config.heads < 2) {
    throw new UsageError(
      "the copy initialisation needs a Qwen2 config (its circuit lives in the biases) with at least 2 layers and 2 heads",
    );
  }
  const pairs = config.headSize / 2;
  const frequency = (pair: number) => config.ropeTheta ** (-pair / pairs);
  const slow = [...Array(pairs).keys()].filter((pair) => frequency(pair) <= 0.0025);
  const fast = [...Array(pairs).keys()].filter((pair) => frequency(pair) > 0.03);
  // The dimensions of a head whose rotation is slow: both members of each slow pair.
  const slowDimensions = slow.flatMap((pair) => [pair, pair + pairs]);
  const codeSize = Math.min(slowDimensions.length, Math.floor(config.hiddenSize / 6)) & ~1;
  if (codeSize < 4 || fast.length < 2) {
    throw new UsageError(
      `the copy initialisation finds only ${slow.length} slow and ${fast.length} fast rotary frequencies; use theta 1e6 and a head size of 16 or more`,
    );
  }
  const basis = orthonormalRows(config.hiddenSize, config.hiddenSize, random);
  const previous = basis.slice(0, codeSize); // written by "one back"
  const beforePrevious = basis.slice(codeSize, 2 * codeSize); // written by "two back"
  const tokenSpace = basis.slice(2 * codeSize);
  const code = tokenSpace.slice(0, codeSize); // read from the embedding
  shrinkResidualWrites(config, parameters);
  clearDirections(get(parameters, embeddingName), [...previous, ...beforePrevious]);
  lookBack(config, parameters, { fast, frequency, code, writes: [previous, beforePrevious] });
  matchAndCopy(config, parameters, {
    slowDimensions: slowDimensions.slice(0, codeSize),
    code,
    previous,
    beforePrevious,
    tokenSpace,
  });
  get(parameters, finalNormName).data.fill(strength.finalNorm);
}

interface LookBack {
  fast: number[];
  frequency(pair: number): number;
  code: Float64Array[];
  writes: Float64Array[][];
}

/** Layer 0: head h attends h + 1 tokens back and writes the code of what it finds. */
function lookBack(config: ModelConfig, parameters: ParameterSet, circuit: LookBack): void {
  const names = layerNames(0);
  const pairs = config.headSize / 2;
  for (const head of [0, 1]) {
    const query = head * config.headSize;
    const keyValue = Math.floor((head * config.kvHeads) / config.heads) * config.headSize;
    clearRows(get(parameters, names.queryWeight), query, config.headSize);
    clearRows(get(parameters, names.keyWeight), keyValue, config.headSize);
    const queryBias = get(parameters, names.queryBias).data;
    const keyBias = get(parameters, names.keyBias).data;
    for (const pair of circuit.fast) {
      // The key is turned by its position, so a query turned back by `distance` matches it best at that distance.
      const angle = -circuit.frequency(pair) * (head + 1);
      queryBias[query + pair] = strength.distance * Math.cos(angle);
      queryBias[query + pair + pairs] = strength.distance * Math.sin(angle);
      keyBias[keyValue + pair] = strength.distance;
    }
    writeRows(get(parameters, names.valueWeight), keyValue, circuit.code, 1);
    writeColumns(get(parameters, names.outputWeight), query, config.headSize, circuit.writes[head]!, strength.code);
  }
}

interface MatchAndCopy {
  slowDimensions: number[];
  code: Float64Array[];
  previous: Float64Array[];
  beforePrevious: Float64Array[];
  tokenSpace: Float64Array[];
}

/** Layer 1: head 0 compares one token, head 1 two tokens by comparing half a code of each; both copy what they find. */
function matchAndCopy(config: ModelConfig, parameters: ParameterSet, circuit: MatchAndCopy): void {
  const names = layerNames(1);
  const half = circuit.slowDimensions.length / 2;
  const shared = config.kvHeads < config.heads;
  for (const head of [0, 1]) {
    const query = head * config.headSize;
    const keyValueHead = Math.floor((head * config.kvHeads) / config.heads);
    const keyValue = keyValueHead * config.headSize;
    const queryWeight = get(parameters, names.queryWeight);
    const keyWeight = get(parameters, names.keyWeight);
    clearRows(queryWeight, query, config.headSize);
    clearRows(keyWeight, keyValue, config.headSize);
    // Heads that share their keys must agree on what a key holds: then both compare two tokens.
    const two = head === 1 || shared;
    circuit.slowDimensions.forEach((dimension, index) => {
      const second = two && index >= half;
      const asks = second ? circuit.previous[index]! : circuit.code[index]!;
      const holds = second ? circuit.beforePrevious[index]! : circuit.previous[index]!;
      writeRows(queryWeight, query + dimension, [asks], strength.match);
      writeRows(keyWeight, keyValue + dimension, [holds], strength.match);
    });
    const start = (keyValueHead * config.headSize) % circuit.tokenSpace.length;
    const copied = circuit.tokenSpace.slice(start, start + config.headSize);
    writeRows(get(parameters, names.valueWeight), keyValue, copied, 1);
    writeColumns(get(parameters, names.outputWeight), query, config.headSize, copied, strength.copy);
  }
}

function shrinkResidualWrites(config: ModelConfig, parameters: ParameterSet): void {
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    for (const name of [names.outputWeight, names.downWeight]) {
      const { data } = get(parameters, name);
      for (let index = 0; index < data.length; index++) data[index]! *= strength.others;
    }
  }
}

/** Removes the given orthonormal directions from every row. */
function clearDirections(matrix: Parameter, directions: readonly Float64Array[]): void {
  const width = matrix.shape[1]!;
  for (let start = 0; start < matrix.data.length; start += width) {
    const row = matrix.data.subarray(start, start + width);
    for (const direction of directions) {
      let dot = 0;
      for (let index = 0; index < width; index++) dot += row[index]! * direction[index]!;
      for (let index = 0; index < width; index++) row[index]! -= dot * direction[index]!;
    }
  }
}

function clearRows(matrix: Parameter, first: number, count: number): void {
  const width = matrix.shape[1]!;
  matrix.data.fill(0, first * width, (first + count) * width);
}

function writeRows(matrix: Parameter, first: number, rows: readonly Float64Array[], scale: number): void {
  const width = matrix.shape[1]!;
  rows.forEach((row, offset) => {
    for (let index = 0; index < width; index++) matrix.data[(first + offset) * width + index] = scale * row[index]!;
  });
}

/** Makes columns `first`.. of an [out, in] matrix the given vectors, and clears the rest of the head's columns. */
function writeColumns(
  matrix: Parameter,
  first: number,
  size: number,
  columns: readonly Float64Array[],
  scale: number,
): void {
  const [height, width] = matrix.shape as [number, number];
  for (let offset = 0; offset < size; offset++) {
    for (let row = 0; row < height; row++) {
      matrix.data[row * width + first + offset] = scale * (columns[offset]?.[row] ?? 0);
    }
  }
}

function orthonormalRows(count: number, width: number, random: SeededRandom): Float64Array[] {
  const rows: Float64Array[] = [];
  while (rows.length < count) {
    const row = Float64Array.from({ length: width }, () => random.normal());
    for (const other of rows) {
      let dot = 0;
      for (let index = 0; index < width; index++) dot += row[index]! * other[index]!;
      for (let index = 0; index < width; index++) row[index]! -= dot * other[index]!;
    }
    const norm = Math.hypot(...row);
    if (norm < 1e-6) continue;
    rows.push(row.map((value) => value / norm));
  }
  return rows;
}

function get(parameters: ParameterSet, name: string): Parameter {
  return parameters.get(name)!;
}
