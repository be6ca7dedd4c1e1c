/**
 * A model's weights in memory that the threads of several engines read: each engine trains an adapter of its own over the one copy.
 * And how much memory such an engine takes, so that a server that opens many can stop in time.
 */
import { loadModelFolder } from "./files/model-folder.ts";
import { adapterSize } from "./lora/adapter.ts";
import type { ModelConfig } from "./model/config.ts";
import { type ParameterSet, parameterCount } from "./model/parameters.ts";
import { decoderLayout, sampledContext } from "./sample/decoder-layout.ts";
import { samplerDefaults } from "./sample/sampler.ts";
import { isWide } from "./sample/wide-thread.ts";
import { batchBytes } from "./train/batch-memory.ts";

/** Weights that engines share, read only. */
export interface SharedBase {
  config: ModelConfig;
  parameters: ParameterSet;
  /** Where they come from: its tokenizer files go with models that are saved. */
  folder?: string;
}

/** Reads a model folder once, for any number of engines. */
export async function loadSharedBase(folder: string): Promise<SharedBase> {
  const { config, parameters } = await loadModelFolder(folder);
  return { config, parameters: shareParameters(parameters), folder };
}

/** Moves weights to memory that threads share; the given set is emptied on the way, so that there are never two copies. */
export function shareParameters(parameters: ParameterSet): ParameterSet {
  const shared: ParameterSet = new Map();
  for (const [name, { shape, data }] of parameters) {
    const copy = new Float32Array(new SharedArrayBuffer(data.byteLength));
    copy.set(data);
    shared.set(name, { shape, data: copy });
    parameters.delete(name);
  }
  return shared;
}

/** Most bytes of an engine with an adapter of this rank: the base that all share, what training adds, what each policy adds. */
export function adapterMemory(config: ModelConfig, options: { rank: number; threads?: number; cacheBytes?: number }) {
  const { maxBatch } = samplerDefaults;
  const { threads = 1, cacheBytes = samplerDefaults.cacheBytes } = options;
  const layout = decoderLayout(config, {
    threads,
    maxBatch,
    maxContext: sampledContext(config, { threads, maxBatch }),
  });
  return {
    base: parameterCount(config) * 4,
    // Weights, gradients, gradients of a second pass, and the two averages of Adam.
    training: adapterSize(config, options.rank) * 4 * 5 + batchBytes(config),
    // ONNX Runtime has a copy of its own, and works on it.
    sampling: layout.pages + cacheBytes + (isWide(config) ? parameterCount(config) * 8 : 0),
  };
}
