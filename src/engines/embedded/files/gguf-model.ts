/**
 * Our models in llama.cpp's words: tensor names, metadata keys, and the one change of layout. Llama models there turn
 * neighbouring dimensions (0 with 1, 2 with 3), Hugging Face ones turn halves (0 with half), so the rows of Llama's query
 * and key projections are reordered; Qwen2 and Qwen3 keep the halves in both.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CoaError } from "../../../core/errors.ts";
import { checkConfig, type ModelConfig, traits } from "../model/config.ts";
import {
  checkParameters,
  embeddingName,
  finalNormName,
  headName,
  layerNames,
  type Parameter,
  type ParameterSet,
} from "../model/parameters.ts";
import {
  type GgufMetadata,
  type GgufTensor,
  type GgufType,
  type GgufValue,
  readGguf,
  writeGguf,
} from "./gguf-format.ts";
import { tokenizerFilesOf } from "./gguf-tokenizer.ts";
import { saveModelFolder } from "./model-folder.ts";

function tensorNames(config: ModelConfig): Map<string, string> {
  const names = new Map([
    [embeddingName, "token_embd.weight"],
    [finalNormName, "output_norm.weight"],
    [headName, "output.weight"],
  ]);
  for (let layer = 0; layer < config.layers; layer++) {
    const ours = layerNames(layer);
    const theirs: Record<keyof typeof ours, string> = {
      inputNorm: "attn_norm.weight",
      queryWeight: "attn_q.weight",
      queryBias: "attn_q.bias",
      keyWeight: "attn_k.weight",
      keyBias: "attn_k.bias",
      queryNorm: "attn_q_norm.weight",
      keyNorm: "attn_k_norm.weight",
      valueWeight: "attn_v.weight",
      valueBias: "attn_v.bias",
      outputWeight: "attn_output.weight",
      postNorm: "ffn_norm.weight",
      gateWeight: "ffn_gate.weight",
      upWeight: "ffn_up.weight",
      downWeight: "ffn_down.weight",
    };
    for (const [key, name] of Object.entries(ours)) names.set(name, `blk.${layer}.${theirs[key as keyof typeof ours]}`);
  }
  return names;
}

/** Reorders the rows of each head between halves (Hugging Face) and neighbours (llama.cpp's Llama). */
export function reorderRows(tensor: Parameter, heads: number, to: "neighbours" | "halves"): Parameter {
  const rows = tensor.shape[0]!;
  const from = tensor.data;
  const columns = from.length / rows;
  const headSize = rows / heads;
  const half = headSize / 2;
  const data = new Float32Array(from.length);
  for (let row = 0; row < rows; row++) {
    const within = row % headSize;
    const neighbour = within < half ? 2 * within : 2 * (within - half) + 1;
    const other = row - within + neighbour;
    const [source, into] = to === "neighbours" ? [row, other] : [other, row];
    data.set(from.subarray(source * columns, (source + 1) * columns), into * columns);
  }
  return { shape: tensor.shape, data };
}

const isQuery = (name: string) => name.includes(".q_proj.");
const isKey = (name: string) => name.includes(".k_proj.");

function reordered(config: ModelConfig, name: string, tensor: Parameter, to: "neighbours" | "halves"): Parameter {
  if (config.architecture !== "llama" || !(isQuery(name) || isKey(name))) return tensor;
  const { shape } = tensor;
  return {
    shape,
    get data() {
      return reorderRows(tensor, isQuery(name) ? config.heads : config.kvHeads, to).data;
    },
  };
}

/** Writes a model as GGUF. `tokenizer` is the metadata of `ggufTokenizer`; without it llama.cpp will not load the file. */
export async function saveGguf(
  path: string,
  model: { config: ModelConfig; parameters: ParameterSet },
  options: {
    type?: "f32" | "f16" | "q8_0";
    name?: string;
    tokenizer?: ReadonlyMap<string, GgufValue>;
    /** How the model is to be used (`coa.json`), kept under `coa.use`. */
    use?: unknown;
  } = {},
): Promise<void> {
  const { config, parameters } = model;
  const type = options.type ?? "f32";
  checkParameters(config, parameters, `the model to be written to ${path}`);
  if (config.architecture === "qwen2" && config.heads * config.headSize !== config.hiddenSize)
    throw new CoaError(
      "format",
      `llama.cpp takes Qwen2 models only where heads x head size is the hidden size; here it is ${config.heads} x ${config.headSize} and ${config.hiddenSize}`,
    );
  if (config.ropeScaling)
    throw new CoaError(
      "format",
      `${path}: a GGUF file with rope type llama3 is not written here; use the model's folder`,
    );
  const names = tensorNames(config);
  const tensors = new Map<string, GgufTensor>();
  for (const [name, parameter] of parameters)
    tensors.set(names.get(name)!, {
      ...reordered(config, name, parameter, "neighbours"),
      type: storedType(parameter.shape, type),
    });
  await writeGguf(
    path,
    new Map([...describeConfig(config, type, options.name), ...(options.tokenizer ?? []), ...useOf(options.use)]),
    tensors,
  );
}

function useOf(use: unknown): [string, GgufValue][] {
  return use === undefined ? [] : [["coa.use", { type: "string", value: JSON.stringify(use) }]];
}

/** Vectors stay f32, as llama.cpp wants them; rows that are no whole number of blocks stay f16. */
function storedType(shape: readonly number[], type: GgufType): GgufType {
  if (shape.length < 2) return "f32";
  return type === "q8_0" && shape.at(-1)! % 32 !== 0 ? "f16" : type;
}

function describeConfig(config: ModelConfig, type: GgufType, name = "coa"): Map<string, GgufValue> {
  const prefix = config.architecture;
  const u32 = (value: number): GgufValue => ({ type: "u32", value });
  return new Map<string, GgufValue>([
    ["general.architecture", { type: "string", value: config.architecture }],
    ["general.name", { type: "string", value: name }],
    ["general.file_type", u32({ f32: 0, f16: 1, q8_0: 7 }[type])],
    [`${prefix}.context_length`, u32(config.maxContext)],
    [`${prefix}.embedding_length`, u32(config.hiddenSize)],
    [`${prefix}.block_count`, u32(config.layers)],
    [`${prefix}.feed_forward_length`, u32(config.intermediateSize)],
    [`${prefix}.attention.head_count`, u32(config.heads)],
    [`${prefix}.attention.head_count_kv`, u32(config.kvHeads)],
    [`${prefix}.attention.key_length`, u32(config.headSize)],
    [`${prefix}.attention.value_length`, u32(config.headSize)],
    [`${prefix}.attention.layer_norm_rms_epsilon`, { type: "f32", value: config.rmsEpsilon }],
    [`${prefix}.rope.dimension_count`, u32(config.headSize)],
    [`${prefix}.rope.freq_base`, { type: "f32", value: config.ropeTheta }],
    [`${prefix}.vocab_size`, u32(config.vocabularySize)],
  ]);
}

/**
 * Reads a GGUF file of a Llama, Qwen2 or Qwen3 model. Numbers are read from the file when a parameter's `data` is asked for. The
 * tokenizer stays behind; it is in `metadata`.
 */
export async function loadGguf(
  path: string,
): Promise<{ config: ModelConfig; parameters: ParameterSet; metadata: GgufMetadata }> {
  const { metadata, tensors } = await readGguf(path);
  const config = configOf(metadata, tensors, path);
  const parameters: ParameterSet = new Map();
  const known = tensorNames(config);
  for (const [ours, theirs] of known) {
    const tensor = tensors.get(theirs);
    if (tensor) parameters.set(ours, reordered(config, ours, tensor, "halves"));
  }
  const read = new Set(known.values());
  const unread = [...tensors.keys()].find((name) => !read.has(name));
  if (unread !== undefined) throw new CoaError("format", `${path} holds a tensor ${unread} that is not read here`);
  const repeated = parameters.get(headName);
  if (config.tieEmbeddings && repeated) parameters.delete(headName);
  checkParameters(config, parameters, path);
  return { config, parameters, metadata };
}

function configOf(metadata: GgufMetadata, tensors: ParameterSet, path: string): ModelConfig {
  const architecture = metadata.get("general.architecture");
  if (architecture !== "llama" && architecture !== "qwen2" && architecture !== "qwen3")
    throw new CoaError(
      "format",
      `${path} holds a model of architecture "${architecture}"; llama, qwen2 and qwen3 are read here`,
    );
  const optional = (key: string) => {
    const value = metadata.get(`${architecture}.${key}`);
    return typeof value === "number" ? value : undefined;
  };
  const required = (key: string) => {
    const value = optional(key);
    if (value === undefined) throw new CoaError("format", `${path} has no number ${architecture}.${key}`);
    return value;
  };
  const embedding = tensors.get("token_embd.weight");
  if (!embedding) throw new CoaError("format", `${path}: tensor token_embd.weight is missing`);
  const hiddenSize = required("embedding_length");
  const heads = required("attention.head_count");
  const head = tensors.get("output.weight");
  const layers = required("block_count");
  if (layers > tensors.size)
    throw new CoaError("format", `${path} claims ${layers} layers but holds ${tensors.size} tensors`);
  const epsilon = required("attention.layer_norm_rms_epsilon");
  return checkConfig({
    architecture,
    vocabularySize: embedding.shape[0]!,
    hiddenSize,
    layers,
    heads,
    kvHeads: optional("attention.head_count_kv") ?? heads,
    headSize: optional("attention.key_length") ?? Math.floor(hiddenSize / heads),
    intermediateSize: required("feed_forward_length"),
    ropeTheta: optional("rope.freq_base") ?? 10_000,
    // Written as a 32-bit float; the decimal number it stands for reads better.
    rmsEpsilon: Number(epsilon.toPrecision(6)),
    tieEmbeddings: !head || same(head, embedding),
    ...traits(architecture),
    maxContext: optional("context_length") ?? 2048,
  });
}

/** Some writers repeat the embedding as the head of a tied model. */
function same(head: Parameter, embedding: Parameter): boolean {
  const [a, b] = [head.data, embedding.data];
  return a.length === b.length && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}

const bytesOf = (data: Float32Array) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** Writes a GGUF file as a Hugging Face folder that trains, quantised weights as numbers; one tensor at a time is in memory. */
export async function ggufToFolder(
  path: string,
  folder: string,
  options: { type?: "f32" | "f16" | "bf16" } = {},
): Promise<void> {
  const { config, parameters, metadata } = await loadGguf(path);
  const { tokenizer, config: tokenizerConfig, generation } = tokenizerFilesOf(metadata, path);
  const use = metadata.get("coa.use");
  await saveModelFolder(
    folder,
    { config, parameters },
    {
      ...options,
      generationConfig: generation,
      async writeMore(temporary) {
        const write = (name: string, text: string) => writeFile(join(temporary, name), `${text}\n`);
        await write("tokenizer.json", JSON.stringify(tokenizer, null, 1));
        await write("tokenizer_config.json", JSON.stringify(tokenizerConfig, null, 2));
        if (typeof use === "string") await write("coa.json", use);
        const licence = metadata.get("general.license");
        if (typeof licence === "string") await write("README.md", `---\nlicense: ${licence.replace(/\s+/g, " ")}\n---`);
      },
    },
  );
}
