/**
 * Batches of a small model computed side by side, each on its own thread: its matrices are too small to be shared between
 * threads without loss, and what is between them runs on one. The lanes read the same weights; each sums its own gradients,
 * and the sums are added in the order of the lanes.
 */
import { startThread } from "../../../base/work/thread.ts";
import type { ModelConfig } from "../model/config.ts";
import { parameterCount } from "../model/parameters.ts";
import type { LaneModel, LaneTask } from "./gradient-lane.ts";
import type { LaneCalls } from "./lane-worker.ts";

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
  });
  return { run: (tasks) => thread.call("run", tasks), close: () => thread.close() };
}
