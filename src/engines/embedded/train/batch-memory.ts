/** How many tokens are computed at once, and what memory that takes. */
import type { ModelConfig } from "../model/config.ts";

/** In how many pieces the logits of a large vocabulary are computed. */
export function defaultHeadChunks(config: ModelConfig): number {
  return config.vocabularySize > 16_384 ? 8 : 1;
}

const keptPerToken = (config: ModelConfig) =>
  config.layers * (15 * config.hiddenSize + 8 * config.intermediateSize) * 4;

/** How many tokens may be computed at once so that logits stay near 100 MB and kept activations near 300 MB. */
export function affordableTokens(config: ModelConfig, headChunks: number): number {
  const logits = (24_000_000 * headChunks) / config.vocabularySize;
  return Math.max(256, Math.min(4096, Math.floor(Math.min(logits, 300e6 / keptPerToken(config)))));
}

/** Bytes of activations and logits of the largest batch. */
export function batchBytes(config: ModelConfig): number {
  const chunks = defaultHeadChunks(config);
  const tokens = affordableTokens(config, chunks);
  return tokens * (keptPerToken(config) + (4 * config.vocabularySize) / chunks);
}
