/** How many tokens are computed at once, and what memory that takes. */
import type { ModelConfig } from "../model/config.ts";

/** In how many pieces the logits of a large vocabulary are computed. */
export function defaultHeadChunks(config: ModelConfig): number {
  return config.vocabularySize > 16_384 ? 8 : 1;
}

/** How many rows of logits are near 100 MB. */
export function defaultChunkRows(config: ModelConfig): number {
  return Math.ceil(24_000_000 / config.vocabularySize);
}

const keptPerToken = (config: ModelConfig) =>
  config.layers * (15 * config.hiddenSize + 8 * config.intermediateSize) * 4;

/** How many tokens may be computed at once: at most `logits`, and so that kept activations stay near 300 MB. */
export function affordableTokens(config: ModelConfig, logits: number): number {
  return Math.max(256, Math.min(4096, Math.floor(Math.min(logits, 300e6 / keptPerToken(config)))));
}

/** Bytes of activations and logits of the largest batch. */
export function batchBytes(config: ModelConfig): number {
  const rows = defaultChunkRows(config);
  const tokens = affordableTokens(config, defaultHeadChunks(config) * rows);
  return tokens * keptPerToken(config) + Math.min(tokens, rows) * 4 * config.vocabularySize;
}
