/** What later stages write on a chain: filters their decisions, reinforcement learning its figures, serving what ran beside it. */
import { z } from "zod";

/**
 * What a filter decided about a record, with the figure it looked at and the bound it compared it with, so that a
 * threshold can be judged, drawn and changed without running the filter again.
 */
export const filterDecisionSchema = z.object({
  stage: z.string(),
  kept: z.boolean(),
  reason: z.string().optional(),
  detail: z.string().optional(),
  /** What was measured, e.g. `interactions`, `similarity`, where the filter measures anything. */
  measure: z.string().optional(),
  value: z.number().optional(),
  threshold: z.number().optional(),
  /** Something is broken (the record, the filter), as opposed to not good enough. */
  problem: z.boolean().optional(),
});
export type FilterDecision = z.infer<typeof filterDecisionSchema>;

/** What reinforcement learning did with a rollout: how it was weighed, whether it was used, and what the update did to it. */
export const rolloutFiguresSchema = z.object({
  step: z.number(),
  /** Rollouts of one task in one step are compared with each other. */
  group: z.string(),
  advantage: z.number().optional(),
  baseline: z.number().optional(),
  kept: z.boolean(),
  /** Why it was not used: `all-right`, `all-wrong`, `uncredited`, `unjudged`, `too-long`, `stale`… */
  dropped: z.string().optional(),
  /** Tokens whose ratio was clipped in the update. */
  clippedTokens: z.number().optional(),
  /** Probability now / probability when sampled, over its tokens. */
  ratio: z.object({ mean: z.number(), min: z.number(), max: z.number() }).optional(),
});
export type RolloutFigures = z.infer<typeof rolloutFiguresSchema>;

/** One answer of the old system, or why there is none. */
const oldAnswerSchema = z.object({
  model: z.string(),
  answer: z.string().optional(),
  ms: z.number().optional(),
  usage: z.object({ promptTokens: z.number(), completionTokens: z.number() }).optional(),
  error: z.string().optional(),
});

/** What serving adds: the old system beside the chain, and the choice among several chains of one request. */
export const servedSchema = z.object({
  /** The old system answered the caller and the chain ran beside it; `agrees` is null where that can't be told. */
  shadow: oldAnswerSchema.extend({ agrees: z.boolean().nullable() }).optional(),
  /** The old system was asked because the chain had no answer, or not a sure one: `no-answer`, `error`, `low-check`. */
  fallback: oldAnswerSchema.extend({ reason: z.string() }).optional(),
  /** Which way a cascade's answer came: from the model, from the old system, or from the model because the old system was down. */
  cascade: z
    .object({
      via: z.enum(["model", "old", "model-unsure"]),
      kind: z.string(),
      score: z.number().nullable(),
      reason: z.string().optional(),
    })
    .optional(),
  /** Which version of the model answered, where several serve. */
  version: z.string().optional(),
});
export type Served = z.infer<typeof servedSchema>;
