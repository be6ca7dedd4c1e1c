/**
 * Batches of a small model computed side by side, each on its own thread: its matrices are too small to be shared between
 * threads without loss, and what is between them runs on one. The lanes read the same weights; each sums its own gradients,
 * and the sums are added in the order of the lanes.
 */
import { Worker } from "node:worker_threads";
import { CoaError, messageOf } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import { parameterCount } from "../model/parameters.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { LaneModel, LaneTask } from "./gradient-lane.ts";

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
  runtime: Runtime["name"];
  threads: number;
}

export type FromLane = { logprobs: Float32Array[]; gradients: ReadonlyMap<string, Float32Array> } | { error: string };

/** A lane on another thread. */
export interface LaneThread {
  /** Computes tasks in order; their gradients, and no earlier ones, are summed. */
  run(tasks: readonly LaneTask[]): Promise<Extract<FromLane, { logprobs: unknown }>>;
  close(): Promise<void>;
}

/** Starts a lane's thread. */
export function startLane(data: LaneThreadData): LaneThread {
  const worker = new Worker(new URL(`./lane-worker${import.meta.url.slice(-3)}`, import.meta.url), {
    workerData: data,
  });
  // It keeps the process alive while it computes, and not while it waits.
  worker.unref();
  let lost: CoaError | undefined;
  let reject: (error: CoaError) => void = () => {};
  const stopped = (problem: unknown) => {
    lost ??= new CoaError("engine", `a training thread stopped: ${messageOf(problem)}; open the engine again`);
    reject(lost);
  };
  worker.on("error", stopped).on("exit", (code) => stopped(`exit code ${code}`));
  return {
    async run(tasks) {
      if (lost) throw lost;
      worker.ref();
      try {
        return await new Promise((resolve, fail) => {
          reject = fail;
          worker.once("message", (message: FromLane) => {
            if ("error" in message) fail(new CoaError("engine", message.error));
            else resolve(message);
          });
          worker.postMessage(tasks);
        });
      } finally {
        worker.unref();
      }
    },
    async close() {
      await worker.terminate();
    },
  };
}
