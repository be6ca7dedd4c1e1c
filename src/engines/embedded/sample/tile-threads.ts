/**
 * Threads that share the tiles of a step. The calling thread works too: all of them count `remaining` down and compute
 * the tile whose number they got, so a thread that is late, descheduled or not yet started does not delay the others.
 */
import { startThread } from "../../../base/work/thread.ts";
import { CoaError } from "../../../core/errors.ts";
import { controlWords, type DecoderLayout } from "./decoder-layout.ts";
import { tileRunner } from "./run-tile.ts";

export interface TileThreadData {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  layout: DecoderLayout;
  vocabularySize: number;
  thread: number;
}

/** Computes tiles until none remain. */
export function takeTiles(control: Int32Array, run: (tile: number) => void): void {
  for (;;) {
    const tile = Atomics.sub(control, controlWords.remaining, 1) - 1;
    if (tile < 0) return;
    run(tile);
    Atomics.add(control, controlWords.done, 1);
    Atomics.notify(control, controlWords.done);
  }
}

/** Starts the helper threads, all but the calling one, which is thread 0. */
export function startTileThreads(data: Omit<TileThreadData, "thread">, threads: number) {
  const control = new Int32Array(data.memory.buffer, 0, 16);
  const runTile = tileRunner(data.module, data.memory, data.layout, data, 0);
  const helpers = Array.from({ length: threads - 1 }, (_, index) =>
    startThread(new URL("./tile-worker.ts", import.meta.url), {
      name: "a sampling thread",
      boundary: "engine",
      data: { ...data, thread: index + 1 } satisfies TileThreadData,
    }),
  );
  return {
    /** Computes tiles 0 to count - 1 and returns when all are done. */
    run(count: number): void {
      Atomics.store(control, controlWords.done, 0);
      Atomics.store(control, controlWords.remaining, count);
      if (count > 1 && helpers.length > 0) {
        Atomics.add(control, controlWords.generation, 1);
        Atomics.notify(control, controlWords.generation);
      }
      takeTiles(control, runTile);
      let silent = 0;
      for (let done = 0; (done = Atomics.load(control, controlWords.done)) < count; ) {
        // A helper that died would keep its tile for ever; minutes without a finished tile mean that.
        if (Atomics.wait(control, controlWords.done, done, 30_000) === "timed-out") silent++;
        if (silent > 10) throw new CoaError("engine", "a sampling thread stopped answering; open the engine again");
      }
    },
    close(): void {
      Atomics.store(control, controlWords.stop, 1);
      Atomics.add(control, controlWords.generation, 1);
      Atomics.notify(control, controlWords.generation);
      for (const helper of helpers) void helper.close();
    },
  };
}
