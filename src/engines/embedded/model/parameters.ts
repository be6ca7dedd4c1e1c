/** Which tensors a config implies, how new ones are drawn, and whether a set of them is complete. */

import { seededRandom } from "../../../base/work/random.ts";
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "./config.ts";
import { installCopyCircuit } from "./copy-circuit.ts";
import {
  elementCount,
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type ParameterSet,
} from "./parameter-set.ts";

export {
  elementCount,
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type Parameter,
  type ParameterSet,
  piecesOf,
} from "./parameter-set.ts";

export interface InitialOptions {
  /** Start with a working induction circuit (see copy-circuit.ts); needs QKV bias, 2 layers, 2 heads. */
  copyInit?: boolean;
  /** Standard deviation of the embedding rows; 0.3 with `copyInit`, 0.02 otherwise. */
  embeddingDeviation?: number;
}

/** Every tensor a config implies, in file order; a tied head has no tensor of its own. */
export function parameterShapes(config: ModelConfig): Map<string, number[]> {
  const { hiddenSize: hidden, intermediateSize: inner } = config;
  const queries = config.heads * config.headSize;
  const keys = config.kvHeads * config.headSize;
  const shapes = new Map<string, number[]>([[embeddingName, [config.vocabularySize, hidden]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const names = layerNames(layer);
    shapes.set(names.inputNorm, [hidden]);
    shapes.set(names.queryWeight, [queries, hidden]);
    shapes.set(names.keyWeight, [keys, hidden]);
    shapes.set(names.valueWeight, [keys, hidden]);
    if (config.qkvBias) {
      shapes.set(names.queryBias, [queries]);
      shapes.set(names.keyBias, [keys]);
      shapes.set(names.valueBias, [keys]);
    }
    if (config.qkNorm) {
      shapes.set(names.queryNorm, [config.headSize]);
      shapes.set(names.keyNorm, [config.headSize]);
    }
    shapes.set(names.outputWeight, [hidden, queries]);
    shapes.set(names.postNorm, [hidden]);
    shapes.set(names.gateWeight, [inner, hidden]);
    shapes.set(names.upWeight, [inner, hidden]);
    shapes.set(names.downWeight, [hidden, inner]);
  }
  shapes.set(finalNormName, [hidden]);
  if (!config.tieEmbeddings) shapes.set(headName, [config.vocabularySize, hidden]);
  return shapes;
}

export function parameterCount(config: ModelConfig): number {
  let total = 0;
  for (const shape of parameterShapes(config).values()) total += elementCount(shape);
  return total;
}

/** Draws new weights: norms 1, biases 0, projections normal with 1/sqrt(in), residual outputs shrunk by 1/sqrt(2 layers). */
export function initialParameters(config: ModelConfig, seed: number, options: InitialOptions = {}): ParameterSet {
  const random = seededRandom(seed);
  const embeddingDeviation = options.embeddingDeviation ?? (options.copyInit ? 0.3 : 0.02);
  const residualShrink = 1 / Math.sqrt(2 * config.layers);
  const parameters: ParameterSet = new Map();
  for (const [name, shape] of parameterShapes(config)) {
    const data = new Float32Array(elementCount(shape));
    if (name.endsWith("norm.weight")) data.fill(1);
    else if (!name.endsWith(".bias")) {
      let deviation = 1 / Math.sqrt(shape[1]!);
      if (name === embeddingName || name === headName) deviation = embeddingDeviation;
      else if (name.endsWith("o_proj.weight") || name.endsWith("down_proj.weight")) deviation *= residualShrink;
      for (let index = 0; index < data.length; index++) data[index] = deviation * random.normal();
    }
    parameters.set(name, { shape, data });
  }
  if (options.copyInit) installCopyCircuit(config, parameters, random);
  return parameters;
}

/** Throws, naming tensor and source, unless the set holds exactly the tensors the config implies. */
export function checkParameters(config: ModelConfig, parameters: ParameterSet, source: string): void {
  const shapes = parameterShapes(config);
  for (const [name, shape] of shapes) {
    const parameter = parameters.get(name);
    if (!parameter)
      throw new CoaError("format", `${source}: tensor ${name} is missing; the config asks for [${shape}]`);
    if (parameter.shape.join() !== shape.join()) {
      throw new CoaError(
        "format",
        `${source}: tensor ${name} has shape [${parameter.shape}], the config asks for [${shape}]`,
      );
    }
  }
  for (const name of parameters.keys()) {
    if (!shapes.has(name)) throw new CoaError("format", `${source}: tensor ${name} is unknown to this config`);
  }
}
