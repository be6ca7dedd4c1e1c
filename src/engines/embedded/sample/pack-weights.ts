/**
 * Copies a model's weights into the decoder's memory in the order its kernels read them. Rows of query, key and value
 * projections are joined in one matrix, gate and up in another. The factor 1 / sqrt(headSize) of attention is folded
 * into the query weights, or into the weights of the queries' norm, which would undo it. Head dimensions are spread so that each half starts on a whole vector; the gaps stay zero.
 */
import { type ModelConfig, rotaryFrequencies } from "../model/config.ts";
import {
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type ParameterSet,
  piecesOf,
} from "../model/parameters.ts";
import type { DecoderLayout } from "./decoder-layout.ts";
import { panelColumns } from "./wasm/matmul.ts";
import { groupedRow, packColumn8, panelBytes8 } from "./wasm/matmul-8bit.ts";

/** Writes all weights; called again whenever training changed them. */
export function packWeights(
  buffer: ArrayBufferLike,
  layout: DecoderLayout,
  config: ModelConfig,
  parameters: ParameterSet,
): void {
  const memory = new Float32Array(buffer);
  const memory8 = { floats: memory, bytes: new Int8Array(buffer) };
  const data = (name: string) => parameters.get(name)!.data;
  const { headSize, heads, kvHeads } = config;
  const half = headSize / 2;
  const spread = (index: number) => {
    const within = index % headSize;
    const shift = within < half ? within : layout.headWidth / 2 + within - half;
    return Math.floor(index / headSize) * layout.headWidth + shift;
  };
  const attentionScale = 1 / Math.sqrt(headSize);
  const queryScale = config.qkNorm ? 1 : attentionScale;

  /** Puts W [out, in] into a packed matrix of `depth` rows, columns starting at `column`. */
  const pack = (name: string, address: number, depth: number, options: PackOptions = {}) => {
    const [, inputs] = parameters.get(name)!.shape as [number, number];
    const scale = options.scale ?? 1;
    const start = address / 4;
    // Publishing repeats this for every weight: the inner loop only reads, multiplies and writes.
    const rows = Int32Array.from(
      { length: inputs },
      (_, input) => (options.spreadInputs ? spread(input) : input) * panelColumns,
    );
    const row = groupedRow(depth);
    for (const piece of piecesOf(parameters.get(name)!)) {
      const weights = piece.numbers;
      for (let from = 0, out = piece.start / inputs; from < weights.length; from += inputs, out++) {
        const column = (options.column ?? 0) + (options.spreadOutputs ? spread(out) : out);
        if (layout.precision === "8bit") {
          for (let input = 0; input < inputs; input++)
            row[rows[input]! / panelColumns] = weights[from + input]! * scale;
          const panel = address + Math.floor(column / panelColumns) * panelBytes8(depth);
          packColumn8(memory8, panel, column % panelColumns, row);
          continue;
        }
        const panel = start + Math.floor(column / panelColumns) * depth * panelColumns + (column % panelColumns);
        for (let input = 0; input < inputs; input++) memory[panel + rows[input]!] = weights[from + input]! * scale;
      }
    }
  };
  const packBias = (name: string, address: number, column: number, scale: number) => {
    const bias = data(name);
    for (let index = 0; index < bias.length; index++)
      memory[address / 4 + column + spread(index)] = bias[index]! * scale;
  };

  const keyColumn = heads * layout.headWidth;
  const valueColumn = keyColumn + kvHeads * layout.headWidth;
  for (const [index, place] of layout.layers.entries()) {
    const names = layerNames(index);
    memory.set(data(names.inputNorm), place.inputNorm / 4);
    memory.set(data(names.postNorm), place.postNorm / 4);
    pack(names.queryWeight, place.qkv, layout.width, { spreadOutputs: true, scale: queryScale });
    pack(names.keyWeight, place.qkv, layout.width, { spreadOutputs: true, column: keyColumn });
    pack(names.valueWeight, place.qkv, layout.width, { spreadOutputs: true, column: valueColumn });
    if (config.qkvBias) {
      packBias(names.queryBias, place.qkvBias, 0, queryScale);
      packBias(names.keyBias, place.qkvBias, keyColumn, 1);
      packBias(names.valueBias, place.qkvBias, valueColumn, 1);
    }
    if (config.qkNorm) {
      packBias(names.queryNorm, place.queryNorm, 0, attentionScale);
      packBias(names.keyNorm, place.keyNorm, 0, 1);
    }
    pack(names.outputWeight, place.out, layout.queryWidth, { spreadInputs: true });
    pack(names.gateWeight, place.gateUp, layout.width);
    pack(names.upWeight, place.gateUp, layout.width, { column: layout.innerWidth });
    pack(names.downWeight, place.down, layout.innerWidth);
  }
  memory.set(data(finalNormName), layout.finalNorm / 4);
  pack(embeddingName, layout.embedding, layout.width);
  if (!config.tieEmbeddings) pack(headName, layout.head, layout.width);
}

interface PackOptions {
  column?: number;
  spreadOutputs?: boolean;
  spreadInputs?: boolean;
  scale?: number;
}

/** Fills the rotary table: for every position the cosines, then the sines, of its angles. */
export function writeRotaryTable(buffer: ArrayBufferLike, layout: DecoderLayout, config: ModelConfig): void {
  const memory = new Float32Array(buffer);
  for (const [index, frequency] of rotaryFrequencies(config).entries()) {
    for (let position = 0; position < layout.maxContext; position++) {
      const at = layout.rotary / 4 + position * layout.headWidth + index;
      memory[at] = Math.cos(position * frequency);
      memory[at + layout.headWidth / 2] = Math.sin(position * frequency);
    }
  }
}
