/**
 * Computes batches one after another and sums their gradients. A graph for each kind of batch is compiled when first needed
 * and kept.
 */
import { startThread } from "../../../base/work/thread.ts";
import type { Adapter } from "../lora/adapter.ts";
import { chunkFeeds } from "../loss/chunked-head.ts";
import { type CompiledGraph, compile } from "../model/compile.ts";
import type { ModelConfig } from "../model/config.ts";
import { embeddingName, headName, type ParameterSet, parameterCount } from "../model/parameters.ts";
import { type BatchShape, layoutBlocks, layoutFeeds } from "../model/row-layout.ts";
import type { HostTensor, Runtime, Session } from "../runtime/runtime.ts";
import { runtimeThread } from "../runtime/runtime-thread.ts";
import { affordableActivations } from "./batch-memory.ts";
import type { LaneCalls } from "./lane-worker.ts";
import type { BatchFeeds } from "./lay-out-batches.ts";

export interface LaneModel {
  config: ModelConfig;
  parameters: ParameterSet;
  adapter?: Adapter;
  /** What gradients are wanted of: the adapter's parameters, or the model's or some of them. */
  trainable: ParameterSet;
  headChunks: number;
  chunkRows: number;
  /** Activations of a batch that would take more are computed again by layer. By default decided by the machine's free memory. */
  keptBytes?: number;
}

/** One batch and what is wanted of it: log-probabilities alone, or gradients too, of the loss with these numbers. */
export interface LaneTask {
  kind: "training" | "scoring";
  batch: BatchFeeds;
  sharpness: number;
  numbers: Readonly<Record<string, number>>;
}

interface LoadedGraph extends CompiledGraph {
  session: Session;
}

/** Opens a lane on this thread; with `memory` the sums are kept in it, else where the results come. */
export function createGradientLane(model: LaneModel, runtime: Runtime, memory?: (length: number) => Float32Array) {
  const { config, parameters, adapter, trainable, headChunks, chunkRows, keptBytes = affordableActivations() } = model;
  const trainableNames = new Set(trainable.keys());
  const graphs = new Map<string, Promise<LoadedGraph>>();
  const gradients = new Map<string, Float32Array>();
  let accumulated = false;
  const feedsOfWeights: Record<string, HostTensor> = Object.fromEntries([
    ...parameters,
    ...(adapter?.parameters ?? []),
  ]);

  const graphFor = (kind: LaneTask["kind"], shape: BatchShape): Promise<LoadedGraph> => {
    const blocks = layoutBlocks(config, shape, kind === "training" ? keptBytes : undefined);
    const key = `${kind} ${JSON.stringify(blocks)}`;
    let loaded = graphs.get(key);
    if (!loaded) {
      const compiled = compile(config, { kind, blocks, headChunks, trainable: trainableNames, adapter });
      loaded = runtime.load(compiled.graph.encode()).then((session) => ({ ...compiled, session }));
      graphs.set(key, loaded);
    }
    return loaded;
  };

  const sumOf = (name: string, length: number): Float32Array => {
    let sum = gradients.get(name);
    if (!sum) gradients.set(name, (sum = memory?.(length) ?? new Float32Array(length)));
    return sum;
  };

  const collect = (loaded: LoadedGraph, results: Record<string, Float32Array>, batch: BatchFeeds): void => {
    for (const name of loaded.gradientNames) {
      const found = results[`gradient:${name}`]!;
      if (!accumulated && !memory) gradients.set(name, found);
      else {
        if (accumulated) addInto(gradients.get(name)!, found);
        else sumOf(name, found.length).set(found);
        free(found);
      }
    }
    accumulated = true;
    const { embedding, head } = loaded.tableRows;
    const width = config.hiddenSize;
    if (head) {
      const table = gradients.get(config.tieEmbeddings ? embeddingName : headName)!;
      addRows(table, results["headRows"]!, batch.targets.data, width);
    }
    if (embedding) {
      const table = sumOf(embeddingName, config.vocabularySize * width);
      addRows(table, results["embeddingRows"]!, batch.tokens.data, width);
    }
  };

  return {
    /** By parameter name; without meaning before the first training batch. */
    gradients,
    /** Something was summed since the beginning or the last `clear`. */
    get accumulated(): boolean {
      return accumulated;
    },
    /** Log-probabilities of what the batch scores; in training its gradients are added to the sums. */
    async run({ kind, batch, sharpness, numbers }: LaneTask): Promise<Float32Array> {
      const loaded = await graphFor(kind, batch.shape);
      const feeds: Record<string, HostTensor> = {
        ...feedsOfWeights,
        ...layoutFeeds(config, batch.shape),
        ...chunkFeeds(batch.targets.data.length, headChunks, chunkRows),
        tokens: batch.tokens,
        targets: batch.targets,
        sharpness: { data: Float32Array.of(sharpness), shape: [] },
      };
      if (kind === "training") {
        Object.assign(feeds, { factor: batch.factor, old: batch.old });
        for (const [name, value] of Object.entries(numbers)) feeds[name] = { data: Float32Array.of(value), shape: [] };
      }
      const results = await loaded.session.run(feeds);
      if (kind === "training") collect(loaded, results, batch);
      return results["logprobs"]!;
    },
    clear(): void {
      for (const gradient of gradients.values()) memory ? gradient.fill(0) : free(gradient);
      if (!memory) gradients.clear();
      accumulated = false;
    },
    async close(): Promise<void> {
      for (const loaded of graphs.values()) await (await loaded).session.release();
      graphs.clear();
    },
  };
}

/** Gives back its memory at once: collected later, the gradients of one step would lie beside the activations of the next. */
function free({ buffer }: Float32Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

export function addInto(target: Float32Array, values: Float32Array): void {
  for (let index = 0; index < target.length; index++) target[index]! += values[index]!;
}

/** Adds row i of `rows` to row `indices[i]` of the table, in order: the same sum every time, whatever the threads do. */
function addRows(table: Float32Array, rows: Float32Array, indices: BigInt64Array, width: number): void {
  for (let row = 0; row < indices.length; row++) {
    const target = Number(indices[row]!) * width;
    const source = row * width;
    for (let index = 0; index < width; index++) table[target + index]! += rows[source + index]!;
  }
}

/** How many lanes, and how many threads each computes with. */
export interface Lanes {
  count: number;
  threads: number;
}

/** Models above this many parameters have matrices that are worth all threads, and gradients too large to be kept once per lane. */
const small = 100e6;
/** More lanes would have too little to do each. */
const mostLanes = 4;

/** The lanes for a model on so many threads; none where they would not help. */
export function chooseLanes(config: ModelConfig, threads: number): Lanes | undefined {
  const count = Math.min(threads, mostLanes);
  if (count < 2 || parameterCount(config) > small) return undefined;
  return { count, threads: Math.floor(threads / count) };
}

export interface LaneThreadData {
  /** Its weights are in memory that threads share. */
  model: LaneModel;
  threads: number;
}

export interface LaneThread {
  /** Computes tasks in order; their gradients, and no earlier ones, are summed. */
  run(tasks: readonly LaneTask[]): Promise<{ logprobs: Float32Array[]; gradients: ReadonlyMap<string, Float32Array> }>;
  close(): Promise<void>;
}

export function startLane(data: LaneThreadData): LaneThread {
  const thread = startThread<LaneCalls>(new URL("./lane-worker.ts", import.meta.url), {
    name: "a training thread",
    remedy: "open the engine again",
    boundary: "engine",
    data,
    resourceLimits: runtimeThread,
  });
  return { run: (tasks) => thread.call("run", tasks), close: () => thread.close() };
}
