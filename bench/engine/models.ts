/** The models that the engine's benchmarks train. */

/** Sizes as `modelConfig` takes them; large models train an adapter of rank `lora`. */
export interface BenchModel {
  model: {
    architecture: "llama" | "qwen2" | "qwen3";
    vocabularySize: number;
    hiddenSize: number;
    layers: number;
    heads: number;
    kvHeads?: number;
    headSize?: number;
    intermediateSize: number;
    maxContext?: number;
  };
  lora?: number;
}

export const models: Record<string, BenchModel> = {
  S: {
    model: {
      architecture: "llama",
      vocabularySize: 4096,
      hiddenSize: 128,
      layers: 4,
      heads: 4,
      intermediateSize: 384,
    },
  },
  L: {
    model: {
      architecture: "llama",
      vocabularySize: 4096,
      hiddenSize: 256,
      layers: 6,
      heads: 8,
      intermediateSize: 768,
    },
  },
  /** The shape of Qwen2.5-0.5B. */
  "0.5B": {
    model: {
      architecture: "qwen2",
      vocabularySize: 151_936,
      hiddenSize: 896,
      layers: 24,
      heads: 14,
      kvHeads: 2,
      intermediateSize: 4864,
      maxContext: 32_768,
    },
    lora: 8,
  },
  /** The shape of Qwen3-0.6B. */
  "0.6B": {
    model: {
      architecture: "qwen3",
      vocabularySize: 151_936,
      hiddenSize: 1024,
      layers: 28,
      heads: 16,
      kvHeads: 8,
      headSize: 128,
      intermediateSize: 3072,
      maxContext: 40_960,
    },
    lora: 8,
  },
};
