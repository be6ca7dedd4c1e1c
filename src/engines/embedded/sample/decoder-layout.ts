/**
 * Where everything lies in the decoder's memory. One shared memory holds packed weights, the rotary table, the tiles
 * of work, a page table and a row of logits per running sequence, scratch for each thread, and after all that the pages
 * of the key-value cache, which grow as needed.
 */
import { CoaError } from "../../../core/errors.ts";
import type { ModelConfig } from "../model/config.ts";
import { attentionScratchBytes } from "./wasm/attention.ts";
import { panelColumns } from "./wasm/matmul.ts";
import { integerRowBytes, panelBytes8 } from "./wasm/matmul-8bit.ts";
import { pagePositions, rowBytes } from "./wasm/row-kernels.ts";

/** Rows that go through the layers together. */
export const tileRows = 48;
/** Context positions read per step beside the decoding ones, so that long contexts do not stop decoding. */
export const contextBudget = 512;
/** Bytes of a wanted output: row within the tile, 1 / temperature (0 = leave the logits as they are). */
export const wantBytes = 8;
/** A tile starts with its number of rows, its number of wanted outputs, and where in the step's outputs they begin. */
const tileHeaderBytes = 16;

/** Control words shared by the threads. */
export const controlWords = { generation: 0, remaining: 1, done: 2, stop: 3, wide: 4 } as const;

/** How the matrices are held: as they are, or in 8 bits with a scale for every 64 weights. */
export type Precision = "f32" | "8bit";

export interface DecoderLayout {
  precision: Precision;
  /** Sizes in floats, padded to whole vectors or panels. */
  width: number;
  headWidth: number;
  queryWidth: number;
  qkvWidth: number;
  innerWidth: number;
  vocabularyWidth: number;
  /** Addresses in bytes. */
  layers: {
    inputNorm: number;
    qkv: number;
    qkvBias: number;
    queryNorm: number;
    keyNorm: number;
    out: number;
    postNorm: number;
    gateUp: number;
    down: number;
  }[];
  finalNorm: number;
  embedding: number;
  head: number;
  zeros: number;
  rotary: number;
  tiles: number;
  tileBytes: number;
  maxTiles: number;
  pageTables: number;
  pageTableBytes: number;
  logits: number;
  logitsBytes: number;
  /** One tile of all rows of a step, with its scratch, for what ONNX Runtime computes (wide-thread.ts); 0 rows without it. */
  wide: { rows: number; tile: number; x: number; qkv: number; attended: number; scores: number };
  scratch: number[]; // [thread]
  scores: number[]; // [thread]
  pages: number;
  pageBytes: number;
  pageLayerBytes: number;
  maxContext: number;
}

const pad = (value: number, unit: number) => Math.ceil(value / unit) * unit;

/** WebAssembly addresses have 32 bits. */
export const memoryLimit = 2 ** 32;

/** Lays out the memory for a model and its options. */
export function decoderLayout(
  config: ModelConfig,
  options: { threads: number; maxBatch: number; maxContext: number; precision?: Precision; wide?: boolean },
): DecoderLayout {
  const precision = options.precision ?? "f32";
  const width = pad(config.hiddenSize, panelColumns);
  const headWidth = 2 * pad(config.headSize / 2, 4);
  const queryWidth = config.heads * headWidth;
  const qkvWidth = (config.heads + 2 * config.kvHeads) * headWidth;
  const innerWidth = pad(config.intermediateSize, panelColumns);
  const vocabularyWidth = pad(config.vocabularySize, panelColumns);
  const maxPages = Math.ceil(options.maxContext / pagePositions);
  let end = 1024; // control words come first
  const floats = (count: number) => {
    const start = end;
    end = pad(end + count * 4, 64);
    return start;
  };
  const matrix = (depth: number, columns: number) =>
    floats(precision === "f32" ? depth * columns : ((columns / panelColumns) * panelBytes8(depth)) / 4);
  const layers = Array.from({ length: config.layers }, () => ({
    inputNorm: floats(width),
    qkv: matrix(width, qkvWidth),
    qkvBias: floats(qkvWidth),
    queryNorm: floats(headWidth),
    keyNorm: floats(headWidth),
    out: matrix(queryWidth, width),
    postNorm: floats(width),
    gateUp: matrix(width, 2 * innerWidth),
    down: matrix(innerWidth, width),
  }));
  const finalNorm = floats(width);
  const embedding = matrix(width, vocabularyWidth);
  const head = config.tieEmbeddings ? embedding : matrix(width, vocabularyWidth);
  const zeros = floats(Math.max(2 * innerWidth, vocabularyWidth));
  const rotary = floats(options.maxContext * headWidth);
  const maxTiles = options.maxBatch + 1;
  const tileBytes = tileHeaderBytes + tileRows * (rowBytes + wantBytes);
  const tiles = floats((maxTiles * tileBytes) / 4);
  const pageTableBytes = maxPages * 4;
  const pageTables = floats((options.maxBatch * pageTableBytes) / 4);
  // Behind each row of logits lies the sum its softmax had.
  const logitsBytes = pad(vocabularyWidth * 4 + 16, 64);
  const logits = floats((options.maxBatch * logitsBytes) / 4);
  const integers = precision === "f32" ? 0 : integerRowBytes(Math.max(width, queryWidth, innerWidth)) / 4;
  const scratchFloats = tileRows * (2 * width + qkvWidth + queryWidth + 3 * innerWidth + integers);
  const scratch = Array.from({ length: options.threads }, () => floats(scratchFloats));
  const scores = Array.from({ length: options.threads }, () => floats(attentionScratchBytes(config.heads) / 4));
  const wideRows = options.wide ? contextBudget + options.maxBatch : 0;
  const wide = {
    rows: wideRows,
    tile: floats((tileHeaderBytes + wideRows * (rowBytes + wantBytes)) / 4),
    x: floats(wideRows * width),
    qkv: floats(wideRows * qkvWidth),
    attended: floats(wideRows * queryWidth),
    scores: floats(attentionScratchBytes(config.heads) / 4),
  };
  const pageLayerBytes = 2 * config.kvHeads * headWidth * pagePositions * 4;
  const layout: DecoderLayout = {
    ...{ precision, width, headWidth, queryWidth, qkvWidth, innerWidth, vocabularyWidth },
    ...{ layers, finalNorm, embedding, head, zeros, rotary, tiles, tileBytes, maxTiles },
    ...{ pageTables, pageTableBytes, logits, logitsBytes, scratch, scores, wide },
    pages: pad(end, 4096),
    pageBytes: pageLayerBytes * config.layers,
    pageLayerBytes,
    maxContext: options.maxContext,
  };
  if (layout.pages + maxPages * layout.pageBytes > memoryLimit)
    throw new CoaError(
      "engine",
      `this model needs ${Math.ceil(layout.pages / 2 ** 20)} MiB for weights and work space and ${Math.ceil((maxPages * layout.pageBytes) / 2 ** 20)} MiB per full context; the sampler has 4096 MiB: lower maxBatch or maxContext, or use a smaller model`,
    );
  return layout;
}

/** The longest context that fits beside the weights: the model's own, or what its cache leaves room for. */
export function sampledContext(
  config: ModelConfig,
  options: { threads: number; maxBatch: number; precision?: Precision; wide?: boolean },
): number {
  const least = decoderLayout(config, { ...options, maxContext: Math.min(config.maxContext, pagePositions) });
  const pageBytes = least.pageBytes + pagePositions * least.headWidth * 4 + options.maxBatch * 4;
  const pages = Math.floor((memoryLimit - least.pages - 4096) / pageBytes);
  return Math.min(config.maxContext, Math.max(1, pages) * pagePositions);
}

/** Where the parts of a tile are, or of the wide one. */
export function tileAddresses(layout: DecoderLayout, tile: number | "wide") {
  const header = tile === "wide" ? layout.wide.tile : layout.tiles + tile * layout.tileBytes;
  const rows = header + tileHeaderBytes;
  return { header, rows, wants: rows + (tile === "wide" ? layout.wide.rows : tileRows) * rowBytes };
}
