/**
 * A tile is up to 48 rows, each one position of one sequence, that go through all layers together. Several positions of
 * a sequence may share a tile (a chunk of its context): they are filed into the cache before any row attends, and a row
 * sees only positions up to its own. Tiles are independent of each other, so threads take them as they come.
 */
import { startThread } from "../../../base/work/thread.ts";
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import { controlWords, type DecoderLayout, tileAddresses, wantBytes } from "./decoder-layout.ts";
import { assembleModule, type WasmFunction } from "./wasm/assembler.ts";
import { attentionFunction } from "./wasm/attention.ts";
import { type MatmulMode, matmulFunction, panelColumns } from "./wasm/matmul.ts";
import { embed8Function, integersFunction, matmul8Function } from "./wasm/matmul-8bit.ts";
import {
  embedFunction,
  gateFunction,
  rmsNormFunction,
  rotateAndFileFunction,
  softmaxFunction,
} from "./wasm/row-kernels.ts";

type Kernel = (...parameters: number[]) => number;

/** The module's functions over the decoder's memory. */
export function tileKernels(module: WebAssembly.Module, memory: WebAssembly.Memory) {
  const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Record<string, Kernel>;
  const { softmax, attention, rmsNorm, embed, headNorm, rotateAndFile, gate } = kernels;
  if (!softmax || !attention || !rmsNorm || !embed || !rotateAndFile || !gate)
    throw new CoaError("engine", "the decoder module lacks a kernel");
  return { all: kernels, softmax, attention, rmsNorm, embed, headNorm, rotateAndFile, gate };
}

/** The decoder's machine code for one model: everything that depends on sizes is a constant in it. */
export function decoderModule(config: ModelConfig, layout: DecoderLayout, maximumPages: number): WebAssembly.Module {
  const shape = { heads: config.heads, kvHeads: config.kvHeads, headWidth: layout.headWidth };
  const eightBit = layout.precision === "8bit";
  const product = (name: string, depth: number, mode: MatmulMode) =>
    eightBit
      ? [matmul8Function(name, depth, mode), integersFunction(`${name}Integers`, depth)]
      : [matmulFunction(name, depth, mode)];
  const functions: WasmFunction[] = [
    softmaxFunction(),
    attentionFunction(shape),
    ...product("project", layout.width, "set"),
    ...product("addAttention", layout.queryWidth, "add"),
    ...product("addInner", layout.innerWidth, "add"),
    rmsNormFunction("rmsNorm", layout.width, config.hiddenSize, config.rmsEpsilon),
    ...(config.qkNorm ? [rmsNormFunction("headNorm", layout.headWidth, config.headSize, config.rmsEpsilon)] : []),
    eightBit ? embed8Function(layout.width) : embedFunction(layout.width),
    rotateAndFileFunction(shape),
    gateFunction(layout.innerWidth),
  ];
  return new WebAssembly.Module(assembleModule(functions, maximumPages));
}

/** Makes the function that computes one tile on one thread. */
export function tileRunner(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  layout: DecoderLayout,
  config: { vocabularySize: number },
  thread: number,
): (tile: number) => void {
  const { all: kernels, softmax, rmsNorm, embed, gate, ...attend } = tileKernels(module, memory);
  const { width, qkvWidth, queryWidth, innerWidth, vocabularyWidth } = layout;
  const x = layout.scratch[thread]!;
  let integers = 0; // where a tile's rows are put as integers
  /** A product, whose rows are turned into integers before where the matrix is in 8 bits. */
  const product = (name: string): Kernel => {
    const kernel = kernels[name];
    const toIntegers = kernels[`${name}Integers`];
    if (!kernel) throw new CoaError("engine", `the decoder module has no ${name}`);
    if (!toIntegers) return kernel;
    return (a, b, bias, c, rows, ...rest) => {
      toIntegers(rows!, a!, integers);
      return kernel(integers, b!, bias!, c!, rows!, ...rest);
    };
  };
  const [project, addAttention, addInner] = [product("project"), product("addAttention"), product("addInner")];
  const scores = layout.scores[thread]!;
  // Views of shared memory stay valid when it grows; these two cover what lies before the pages.
  const words = new Int32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);

  return (tile) => {
    const { header, rows, wants } = tileAddresses(layout, tile);
    const count = words[header / 4]!;
    const wanted = words[header / 4 + 1]!;
    const normed = x + count * width * 4;
    const qkv = normed + count * width * 4;
    const attended = qkv + count * qkvWidth * 4;
    const gateUp = attended + count * queryWidth * 4;
    const inner = gateUp + count * 2 * innerWidth * 4;
    integers = inner + count * innerWidth * 4;
    embed(count, rows, layout.embedding, x);
    for (const [index, place] of layout.layers.entries()) {
      rmsNorm(count, x, place.inputNorm, normed);
      project(normed, place.qkv, place.qkvBias, qkv, count, qkvWidth / panelColumns, qkvWidth * 4);
      attendLayer(attend, layout, index, { count, rows, qkv, attended, scores });
      addAttention(attended, place.out, 0, x, count, width / panelColumns, width * 4);
      rmsNorm(count, x, place.postNorm, normed);
      project(normed, place.gateUp, layout.zeros, gateUp, count, (2 * innerWidth) / panelColumns, 2 * innerWidth * 4);
      gate(count, gateUp, inner);
      addInner(inner, place.down, 0, x, count, width / panelColumns, width * 4);
    }
    const firstOutput = words[header / 4 + 2]!;
    for (let index = 0; index < wanted; index++)
      rmsNorm(1, x + words[(wants + index * wantBytes) / 4]! * width * 4, layout.finalNorm, normed + index * width * 4);
    const logits = layout.logits + firstOutput * layout.logitsBytes;
    project(normed, layout.head, layout.zeros, logits, wanted, vocabularyWidth / panelColumns, layout.logitsBytes);
    for (let index = 0; index < wanted; index++) {
      const scale = floats[(wants + index * wantBytes) / 4 + 1]!;
      const row = logits + index * layout.logitsBytes;
      if (scale > 0) floats[row / 4 + vocabularyWidth] = softmax(row, config.vocabularySize, scale);
    }
  };
}

/** Norms and turns queries and keys, files keys and values into the cache, and attends. */
export function attendLayer(
  {
    headNorm,
    rotateAndFile,
    attention,
  }: Pick<ReturnType<typeof tileKernels>, "headNorm" | "rotateAndFile" | "attention">,
  layout: DecoderLayout,
  layer: number,
  { count, rows, qkv, attended, scores }: Record<"count" | "rows" | "qkv" | "attended" | "scores", number>,
): void {
  const { qkvWidth, queryWidth, headWidth, pageLayerBytes } = layout;
  const { queryNorm, keyNorm } = layout.layers[layer]!;
  for (let row = 0; headNorm && row < count; row++) {
    const query = qkv + row * qkvWidth * 4;
    const key = query + queryWidth * 4;
    headNorm(queryWidth / headWidth, query, queryNorm, query);
    headNorm((qkvWidth - queryWidth) / headWidth / 2, key, keyNorm, key);
  }
  rotateAndFile(count, rows, qkv, layout.rotary, layer * pageLayerBytes);
  attention(count, rows, qkv, attended, layer * pageLayerBytes, scores);
}

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

/**
 * Starts the helper threads, all but the calling one, which is thread 0. All count `remaining` down and compute the tile whose number
 * they got, so a thread that is late, descheduled or not yet started does not delay the others.
 */
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
