/** The body of a helper thread: sleep until a step begins, take tiles until none remain. */
import { workerData } from "node:worker_threads";
import { controlWords } from "./decoder-layout.ts";
import { type TileThreadData, takeTiles, tileRunner } from "./run-tile.ts";

const { module, memory, layout, vocabularySize, thread } = workerData as TileThreadData;
const control = new Int32Array(memory.buffer, 0, 16);
const runTile = tileRunner(module, memory, layout, { vocabularySize }, thread);
let seen = 0;
while (Atomics.load(control, controlWords.stop) === 0) {
  Atomics.wait(control, controlWords.generation, seen);
  seen = Atomics.load(control, controlWords.generation);
  takeTiles(control, runTile);
}
