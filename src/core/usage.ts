/**
 * What work cost. Tokens are counted two ways: `billed` is prompt plus completion of every model call, as an API without
 * a cache would charge; `computed` is what a perfect prefix cache would still have to process. A saving quoted with one
 * number only is half a truth, so both travel together everywhere.
 */
import { z } from "zod";

export const usageSchema = z.object({
  modelCalls: z.number(),
  promptTokens: z.number(),
  completionTokens: z.number(),
  /** Prompt tokens the server said it had in its cache (0 when it says nothing). */
  cachedTokens: z.number(),
  /** Prompt + completion over all calls. */
  billedTokens: z.number(),
  /** Tokens never seen before in this run: new prompt text once, plus completions. */
  computedTokens: z.number(),
  toolCalls: z.number(),
  toolMs: z.number(),
  wallMs: z.number(),
  costUsd: z.number(),
});
export type Usage = z.infer<typeof usageSchema>;

/** No work done yet. */
export function emptyUsage(): Usage {
  return {
    modelCalls: 0,
    promptTokens: 0,
    completionTokens: 0,
    cachedTokens: 0,
    billedTokens: 0,
    computedTokens: 0,
    toolCalls: 0,
    toolMs: 0,
    wallMs: 0,
    costUsd: 0,
  };
}

/** The sum of two usages, field by field. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = emptyUsage();
  for (const key of Object.keys(sum) as (keyof Usage)[]) sum[key] = a[key] + b[key];
  return sum;
}
