/**
 * What work cost. Tokens are counted two ways: `billed` is prompt plus completion of every model call, as an API
 * without a cache would charge; `computed` is what is left to process with a perfect prefix cache. One of them alone
 * would mislead, so both are always given.
 */
import { z } from "zod";

// Limits are counted against it: one below 0 would raise them.
const amount = z.number().min(0);

export const usageSchema = z.object({
  modelCalls: amount,
  promptTokens: amount,
  completionTokens: amount,
  /** Prompt tokens the server said it had in its cache (0 when it says nothing). */
  cachedTokens: amount,
  /** Completion tokens that were hidden reasoning, where the server says so. */
  reasoningTokens: amount.default(0),
  billedTokens: amount,
  /** Tokens never seen before in this run: new prompt text once, plus completions. */
  computedTokens: amount,
  toolCalls: amount,
  toolMs: amount,
  wallMs: amount,
  costUsd: amount,
});
export type Usage = z.infer<typeof usageSchema>;
