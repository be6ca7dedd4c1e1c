/**
 * Where many rows meet, as in reading a context, ONNX Runtime multiplies about twice as fast as WebAssembly. A thread of its own runs
 * its graphs, because they can't be waited for here; attention stays in WebAssembly, over the same pages. The caller blocks
 * until the step is done, as it does for its tiles. Results are equal to those of the tiles up to rounding, not to the last bit.
 */
import { startThread } from "../../../base/work/thread.ts";
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import { type ParameterSet, parameterCount } from "../model/parameters.ts";
import { controlWords, type Precision } from "./decoder-layout.ts";
import type { TileThreadData } from "./tile-threads.ts";
import { groupInputs } from "./wasm/matmul-8bit.ts";
import { wideGraph } from "./wide-graphs.ts";

/** Smaller models stay in WebAssembly, where results are the same to the last bit. */
const fewest = 50e6;
const mostBytes = 1e9;

export function isWide(config: ModelConfig, precision: Precision = "f32"): boolean {
  const count = parameterCount(config);
  const { hiddenSize, headSize, heads, intermediateSize } = config;
  const whole = [hiddenSize, heads * headSize, intermediateSize].every((size) => size % groupInputs === 0);
  return count > fewest && count * (precision === "f32" ? 4 : 1) <= mostBytes && whole && headSize % 8 === 0;
}

export type WideThreadData = Pick<TileThreadData, "module" | "memory" | "layout"> & {
  config: ModelConfig;
  threads: number;
};

/** What the thread is told: a graph of the next weights, or to compute the wide tile. */
export type ToWideThread = { graph: Uint8Array; index: number } | "run";

export const wideStates = { busy: 0, done: 1, failed: 2, absent: 3 } as const;

export interface WideThread {
  load(): void;
  readonly ready: boolean;
  run(): void;
  close(): void;
}

export function startWideThread(data: WideThreadData, parameters: ParameterSet): WideThread {
  const control = new Int32Array(data.memory.buffer, 0, 16);
  const thread = startThread(new URL("./wide-worker.ts", import.meta.url), {
    name: "a sampling thread",
    boundary: "engine",
    data,
  });
  let loaded = false;
  const begin = (message: ToWideThread) => {
    Atomics.store(control, controlWords.wide, wideStates.busy);
    thread.post(message);
  };
  const wait = (): number => {
    for (let silent = 0; silent < 20; silent++) {
      const state = Atomics.load(control, controlWords.wide);
      if (state === wideStates.failed) throw new CoaError("engine", "ONNX Runtime failed in a sampling thread");
      if (state !== wideStates.busy) return state;
      Atomics.wait(control, controlWords.wide, wideStates.busy, 30_000);
    }
    throw new CoaError("engine", "a sampling thread stopped answering; open the engine again");
  };
  const load = () => {
    loaded = true;
    for (let index = 0; loaded && index <= data.config.layers; index++) {
      begin({ graph: wideGraph(data.config, parameters, data.layout.precision, index), index });
      loaded = wait() === wideStates.done;
    }
  };
  load();
  return {
    load,
    get ready() {
      return loaded;
    },
    run() {
      begin("run");
      wait();
    },
    close: () => void thread.close(),
  };
}
