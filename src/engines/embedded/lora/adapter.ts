/**
 * Low-rank adapters: instead of a weight W, two thin matrices are trained and `scale * up down` is added to it. The base
 * stays as it was, so gradients and optimizer memory are a small fraction of the model. Tensors carry their PEFT names.
 */

import { seededRandom } from "../../../base/work/random.ts";
import { UsageError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import type { Parameter } from "../model/parameter-set.ts";
import { type ParameterSet, parameterShapes } from "../model/parameters.ts";

/** Options of a LoRA adapter. */
export interface LoraOptions {
  rank: number;
  /** The addition is scaled by alpha / rank; default 2 * rank. */
  alpha?: number;
  /** Which projections; all seven of a layer by default. */
  targets?: readonly string[];
}

/** An adapter: its tensors, and which weight each pair belongs to. */
export interface Adapter {
  rank: number;
  alpha: number;
  targetModules: readonly string[];
  parameters: ParameterSet;
  /** By Hugging Face name of the weight. */
  pairs: ReadonlyMap<string, { down: string; up: string }>;
}

export const loraTargets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

/** A fresh adapter: `down` random, `up` zero, so that the model starts unchanged. */
export function createAdapter(config: ModelConfig, options: LoraOptions, seed: number): Adapter {
  const targetModules = options.targets ?? loraTargets;
  const unknown = targetModules.find((name) => !loraTargets.includes(name));
  if (unknown)
    throw new UsageError(`no projection is called ${unknown}; an adapter can be put on ${loraTargets.join(", ")}`);
  if (!Number.isInteger(options.rank) || options.rank < 1) {
    throw new UsageError(`adapter rank is ${options.rank}; it must be a whole number above 0`);
  }
  const random = seededRandom(seed);
  const parameters: ParameterSet = new Map();
  const pairs = new Map<string, { down: string; up: string }>();
  for (const [name, [outputs, inputs]] of adaptedShapes(config, targetModules)) {
    const prefix = `base_model.model.${name.replace(/\.weight$/, "")}`;
    const pair = { down: `${prefix}.lora_A.weight`, up: `${prefix}.lora_B.weight` };
    const deviation = 1 / Math.sqrt(inputs);
    const down = Float32Array.from({ length: options.rank * inputs }, () => deviation * random.normal());
    parameters.set(pair.down, { shape: [options.rank, inputs], data: down });
    parameters.set(pair.up, { shape: [outputs, options.rank], data: new Float32Array(outputs * options.rank) });
    pairs.set(name, pair);
  }
  return { rank: options.rank, alpha: options.alpha ?? 2 * options.rank, targetModules, parameters, pairs };
}

/** The weights that an adapter adds to: name, outputs and inputs. */
function* adaptedShapes(config: ModelConfig, targets: readonly string[]): Generator<[string, [number, number]]> {
  for (const [name, shape] of parameterShapes(config))
    if (targets.some((module) => name.endsWith(`.${module}.weight`))) yield [name, shape as [number, number]];
}

export function adapterSize(config: ModelConfig, rank: number): number {
  let size = 0;
  for (const [, [outputs, inputs]] of adaptedShapes(config, loraTargets)) size += rank * (outputs + inputs);
  return size;
}

/**
 * The base with the adapter added. A tensor is added up when it is read, and not kept: a merged model can be written or packed
 * without a second copy of its weights in memory.
 */
export function mergedParameters(base: ParameterSet, adapter: Adapter): ParameterSet {
  const scale = adapter.alpha / adapter.rank;
  const merged: ParameterSet = new Map();
  for (const [name, parameter] of base) {
    const pair = adapter.pairs.get(name);
    if (!pair) {
      merged.set(name, parameter);
      continue;
    }
    merged.set(name, {
      shape: parameter.shape,
      get data() {
        const down = adapter.parameters.get(pair.down)!.data;
        const up = adapter.parameters.get(pair.up)!.data;
        return addLowRank(parameter, down, up, adapter.rank, scale);
      },
    });
  }
  return merged;
}

function addLowRank(
  { shape, data }: Parameter,
  down: Float32Array,
  up: Float32Array,
  rank: number,
  scale: number,
): Float32Array {
  const [outputs, inputs] = shape as [number, number];
  const sum = data.slice();
  // Four ranks in one pass over the row; what a pass lacks has factor 0.
  for (let row = 0; row < outputs; row++) {
    const start = row * inputs;
    for (let index = 0; index < rank; index += 4) {
      const factor = (more: number) => (index + more < rank ? scale * up[row * rank + index + more]! : 0);
      const offset = (more: number) => Math.min(index + more, rank - 1) * inputs;
      const [a, b, c, d] = [factor(0), factor(1), factor(2), factor(3)];
      if (a === 0 && b === 0 && c === 0 && d === 0) continue;
      const [atA, atB, atC, atD] = [offset(0), offset(1), offset(2), offset(3)];
      for (let at = 0; at < inputs; at++) {
        sum[start + at]! += a * down[atA + at]! + b * down[atB + at]! + c * down[atC + at]! + d * down[atD + at]!;
      }
    }
  }
  return sum;
}
