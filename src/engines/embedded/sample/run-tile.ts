/**
 * A tile is up to 48 rows, each one position of one sequence, that go through all layers together. Several positions of
 * a sequence may share a tile (a chunk of its context): they are filed into the cache before any row attends, and a row
 * sees only positions up to its own. Tiles are independent of each other, so threads take them as they come.
 */
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import { type DecoderLayout, tileAddresses, wantBytes } from "./decoder-layout.ts";
import { assembleModule, type WasmFunction } from "./wasm/assembler.ts";
import { attentionFunction } from "./wasm/attention.ts";
import { matmulFunction, panelColumns } from "./wasm/matmul.ts";
import {
  embedFunction,
  gateFunction,
  rmsNormFunction,
  rotateAndFileFunction,
  softmaxFunction,
} from "./wasm/row-kernels.ts";

type Kernel = (...parameters: number[]) => number;

/** The decoder's machine code for one model: everything that depends on sizes is a constant in it. */
export function decoderModule(config: ModelConfig, layout: DecoderLayout, maximumPages: number): WebAssembly.Module {
  const shape = { heads: config.heads, kvHeads: config.kvHeads, headWidth: layout.headWidth };
  const functions: WasmFunction[] = [
    softmaxFunction(),
    attentionFunction(shape),
    matmulFunction("project", layout.width, "set"),
    matmulFunction("addAttention", layout.queryWidth, "add"),
    matmulFunction("addInner", layout.innerWidth, "add"),
    rmsNormFunction("rmsNorm", layout.width, config.hiddenSize, config.rmsEpsilon),
    ...(config.qkNorm ? [rmsNormFunction("headNorm", layout.headWidth, config.headSize, config.rmsEpsilon)] : []),
    embedFunction(layout.width),
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
  const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Record<string, Kernel>;
  const { softmax, attention, project, addAttention, addInner, rmsNorm, embed, headNorm, rotateAndFile, gate } =
    kernels;
  if (!softmax || !attention || !project || !addAttention || !addInner || !rmsNorm || !embed || !rotateAndFile || !gate)
    throw new CoaError("engine", "the decoder module lacks a kernel");
  const { width, qkvWidth, queryWidth, innerWidth, vocabularyWidth } = layout;
  const heads = queryWidth / layout.headWidth;
  const kvHeads = (qkvWidth - queryWidth) / layout.headWidth / 2;
  const x = layout.scratch[thread]!;
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
    embed(count, rows, layout.embedding, x);
    for (const [index, place] of layout.layers.entries()) {
      const offset = index * layout.pageLayerBytes;
      rmsNorm(count, x, place.inputNorm, normed);
      project(normed, place.qkv, place.qkvBias, qkv, count, qkvWidth / panelColumns, qkvWidth * 4);
      for (let row = 0; headNorm && row < count; row++) {
        const query = qkv + row * qkvWidth * 4;
        const key = query + queryWidth * 4;
        headNorm(heads, query, place.queryNorm, query);
        headNorm(kvHeads, key, place.keyNorm, key);
      }
      rotateAndFile(count, rows, qkv, layout.rotary, offset);
      attention(count, rows, qkv, attended, offset, scores);
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
