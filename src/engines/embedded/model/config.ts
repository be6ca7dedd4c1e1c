/**
 * The shape of a decoder: everything that decides which tensors exist and how they are combined. Three architectures are
 * spoken, Qwen2, Qwen3 and Llama, and all are the same function here: RMSNorm, rotary positions, grouped-query attention,
 * SwiGLU. Qwen2 adds a bias to the query, key and value projections; Qwen3 norms each head of queries and keys.
 */
import * as z from "zod";
import { CoaError } from "../../../core/errors.ts";

/** Which tensors a decoder has and how they are combined. */
export interface ModelConfig {
  architecture: "qwen2" | "qwen3" | "llama";
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  heads: number;
  /** Key and value heads; each serves `heads / kvHeads` query heads. */
  kvHeads: number;
  headSize: number;
  intermediateSize: number;
  ropeTheta: number;
  /** Llama 3.1's stretching of long waves; absent: none. @internal */
  ropeScaling?: RopeScaling;
  rmsEpsilon: number;
  /** The output projection is the embedding matrix. */
  tieEmbeddings: boolean;
  /** Query, key and value projections carry a bias (Qwen2 does, Llama does not). */
  qkvBias: boolean;
  /** Every head of queries and keys is normed before it is turned (Qwen3); absent: not. */
  qkNorm?: true;
  maxContext: number;
}

/** The sizes a new model is described with; the rest follows. */
export interface ModelSize {
  architecture?: ModelConfig["architecture"];
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  heads: number;
  kvHeads?: number;
  headSize?: number;
  intermediateSize?: number;
  ropeTheta?: number;
  rmsEpsilon?: number;
  tieEmbeddings?: boolean;
  maxContext?: number;
}

/** Fills in what a size leaves open: head size, 8/3 SwiGLU width rounded up to 32, tied embeddings, theta 1e6. */
export function modelConfig(size: ModelSize): ModelConfig {
  const architecture = size.architecture ?? "qwen2";
  return checkConfig({
    architecture,
    vocabularySize: size.vocabularySize,
    hiddenSize: size.hiddenSize,
    layers: size.layers,
    heads: size.heads,
    kvHeads: size.kvHeads ?? size.heads,
    headSize: size.headSize ?? Math.floor(size.hiddenSize / size.heads),
    intermediateSize: size.intermediateSize ?? Math.ceil((size.hiddenSize * 8) / 3 / 32) * 32,
    ropeTheta: size.ropeTheta ?? 1_000_000,
    rmsEpsilon: size.rmsEpsilon ?? 1e-6,
    tieEmbeddings: size.tieEmbeddings ?? true,
    ...traits(architecture),
    maxContext: size.maxContext ?? 2048,
  });
}

/** What an architecture adds to the projections of attention. */
export function traits(architecture: ModelConfig["architecture"]): Pick<ModelConfig, "qkvBias" | "qkNorm"> {
  return { qkvBias: architecture === "qwen2", ...(architecture === "qwen3" ? { qkNorm: true } : {}) };
}

/** Returns the config when its numbers fit together, and says which do not otherwise. */
export function checkConfig(config: ModelConfig): ModelConfig {
  const whole = [
    "vocabularySize",
    "hiddenSize",
    "layers",
    "heads",
    "kvHeads",
    "headSize",
    "intermediateSize",
    "maxContext",
  ] as const;
  for (const key of whole) {
    if (!Number.isInteger(config[key]) || config[key] < 1) {
      throw new CoaError("format", `model config: ${key} is ${config[key]}; it must be a whole number above 0`);
    }
  }
  if (config.heads % config.kvHeads !== 0) {
    throw new CoaError(
      "format",
      `model config: ${config.heads} heads can't share ${config.kvHeads} key-value heads evenly`,
    );
  }
  if (config.headSize % 2 !== 0) {
    throw new CoaError("format", `model config: head size ${config.headSize} is odd; rotary positions need pairs`);
  }
  return config;
}

/** Bytes of activations that a token leaves for its gradient in all layers. */
export function keptPerToken({ layers, hiddenSize, intermediateSize }: ModelConfig): number {
  return layers * (15 * hiddenSize + 8 * intermediateSize) * 4;
}

const supported = ["qwen2", "qwen3", "llama"] as const;

// Far beyond any model: a file that claims more is broken or hostile, and must not be believed before it is read.
const count = z.number().int().positive().max(1e8);
const layerCount = z.number().int().positive().max(1000);
const positive = z.number().positive();
const ropeSchema = z.looseObject({
  rope_theta: positive.nullish(),
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  factor: positive.nullish(),
  low_freq_factor: positive.nullish(),
  high_freq_factor: positive.nullish(),
  original_max_position_embeddings: positive.nullish(),
});
const huggingFaceSchema = z.looseObject({
  model_type: z.string(),
  vocab_size: count,
  hidden_size: count,
  num_hidden_layers: layerCount,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  intermediate_size: count,
  rope_theta: z.number().positive().nullish(),
  rope_parameters: ropeSchema.nullish(),
  rope_scaling: ropeSchema.nullish(),
  rms_norm_eps: z.number().positive().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  max_position_embeddings: count.nullish(),
  hidden_act: z.string().nullish(),
  attention_bias: z.boolean().nullish(),
  mlp_bias: z.boolean().nullish(),
  use_sliding_window: z.boolean().nullish(),
  layer_types: z.array(z.string()).nullish(),
});

/** Reads a Hugging Face `config.json`; `source` names the file in error messages. */
export function configFromHuggingFace(value: unknown, source = "config.json"): ModelConfig {
  const kind = (value as { model_type?: unknown } | null)?.model_type;
  if (typeof kind === "string" && !supported.some((one) => one === kind)) {
    throw new CoaError("format", `${source}: model_type "${kind}" is not supported; ${supported.join(", ")} are`);
  }
  const parsed = huggingFaceSchema.safeParse(value);
  if (!parsed.success) {
    throw new CoaError("format", `${source} is not a decoder's config: ${z.prettifyError(parsed.error)}`);
  }
  const json = parsed.data;
  const refuse = (what: string): never => {
    throw new CoaError("format", `${source}: ${what} is not supported; use a Qwen2, Qwen3 or Llama model without it`);
  };
  const architecture = json.model_type as ModelConfig["architecture"];
  const ropeType =
    json.rope_parameters?.rope_type ?? json.rope_scaling?.rope_type ?? json.rope_scaling?.type ?? "default";
  if (ropeType !== "default" && ropeType !== "llama3") refuse(`rope type "${ropeType}"`);
  const ropeScaling =
    ropeType === "llama3" ? llama3Scaling(json.rope_parameters ?? json.rope_scaling ?? {}) : undefined;
  if (ropeScaling === null) refuse("rope type llama3 without all of its numbers");
  if ((json.hidden_act ?? "silu") !== "silu") refuse(`hidden_act "${json.hidden_act}"`);
  if (architecture !== "qwen2" && json.attention_bias)
    refuse(`attention_bias in ${architecture} (it also biases the output projection)`);
  const otherLayer = json.layer_types?.find((type) => type !== "full_attention");
  if (otherLayer !== undefined) refuse(`layer type "${otherLayer}"`);
  if (json.mlp_bias) refuse("mlp_bias");
  if (json.use_sliding_window) refuse("use_sliding_window");
  return checkConfig({
    architecture,
    vocabularySize: json.vocab_size,
    hiddenSize: json.hidden_size,
    layers: json.num_hidden_layers,
    heads: json.num_attention_heads,
    kvHeads: json.num_key_value_heads ?? json.num_attention_heads,
    // Qwen3's own default, whatever its width.
    headSize:
      json.head_dim ?? (architecture === "qwen3" ? 128 : Math.floor(json.hidden_size / json.num_attention_heads)),
    intermediateSize: json.intermediate_size,
    ropeTheta: json.rope_parameters?.rope_theta ?? json.rope_theta ?? 10_000,
    ...(ropeScaling ? { ropeScaling } : {}),
    rmsEpsilon: json.rms_norm_eps ?? 1e-6,
    tieEmbeddings: json.tie_word_embeddings ?? false,
    ...traits(architecture),
    maxContext: json.max_position_embeddings ?? 2048,
  });
}

/** The numbers of Llama 3.1's stretching, or null where one is missing or they do not fit together. */
function llama3Scaling(rope: z.infer<typeof ropeSchema>): RopeScaling | null {
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = rope;
  if (!factor || !low || !high || !original || high <= low) return null;
  return { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext: original };
}

/** Writes the config as a Hugging Face `config.json` value. */
export function configToHuggingFace(config: ModelConfig): Record<string, unknown> {
  return {
    architectures: [
      { qwen2: "Qwen2ForCausalLM", qwen3: "Qwen3ForCausalLM", llama: "LlamaForCausalLM" }[config.architecture],
    ],
    model_type: config.architecture,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headSize,
    intermediate_size: config.intermediateSize,
    hidden_act: "silu",
    rope_theta: config.ropeTheta,
    ...(config.ropeScaling && {
      rope_scaling: {
        rope_type: "llama3",
        factor: config.ropeScaling.factor,
        low_freq_factor: config.ropeScaling.lowFrequencyFactor,
        high_freq_factor: config.ropeScaling.highFrequencyFactor,
        original_max_position_embeddings: config.ropeScaling.originalContext,
      },
    }),
    rms_norm_eps: config.rmsEpsilon,
    tie_word_embeddings: config.tieEmbeddings,
    max_position_embeddings: config.maxContext,
    ...(config.architecture !== "qwen2" && { attention_bias: false }),
    ...(config.architecture === "llama" ? { mlp_bias: false } : { use_sliding_window: false }),
    torch_dtype: "float32",
    use_cache: true,
  };
}

/** Llama 3.1's stretching: waves longer than the context it was first trained with turn `factor` times slower. */
interface RopeScaling {
  factor: number;
  lowFrequencyFactor: number;
  highFrequencyFactor: number;
  originalContext: number;
}

/** @internal The frequency of every pair of a head, fastest first. */
export function rotaryFrequencies({
  headSize,
  ropeTheta,
  ropeScaling,
}: Pick<ModelConfig, "headSize" | "ropeTheta" | "ropeScaling">): Float64Array {
  const pairs = headSize / 2;
  const plain = Float64Array.from({ length: pairs }, (_, pair) => ropeTheta ** (-pair / pairs));
  if (!ropeScaling) return plain;
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext } = ropeScaling;
  return plain.map((frequency) => {
    // How many waves fit the original context: few: stretched; many: unchanged; between the two: interpolated.
    const waves = (originalContext * frequency) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (waves - low) / (high - low)));
    return frequency * (kept + (1 - kept) / factor);
  });
}
