/** How many tokens are computed at once, and what memory that takes. */
import { keptPerToken, type ModelConfig } from "../model/config.ts";

/** In how many pieces the logits of a large vocabulary are computed. */
export function defaultHeadChunks(config: ModelConfig): number {
  return config.vocabularySize > 16_384 ? 8 : 1;
}

/** How many rows of logits are near 100 MB. */
export function defaultChunkRows(config: ModelConfig): number {
  return Math.ceil(24_000_000 / config.vocabularySize);
}

/** How many tokens may be computed at once: at most `logits`, and so that kept activations stay near 300 MB. */
export function affordableTokens(config: ModelConfig, logits: number): number {
  return Math.max(256, Math.min(4096, Math.floor(Math.min(logits, 300e6 / keptPerToken(config)))));
}

/** How much the activations of one batch may take: a part of what is free, and never more than 4 GB. */
export function affordableActivations(): number {
  return Math.min(4e9, 0.4 * process.availableMemory());
}

/** Bytes of activations and logits of the largest batch. */
export function batchBytes(config: ModelConfig): number {
  const rows = defaultChunkRows(config);
  const tokens = affordableTokens(config, defaultHeadChunks(config) * rows);
  return tokens * keptPerToken(config) + Math.min(tokens, rows) * 4 * config.vocabularySize;
}
