/**
 * What reinforcement learning did with a rollout: how it was weighed, whether it was used, and what the update did to
 * it.
 */
import type { z } from "zod";
import { lazySchema } from "./lazy-schema.ts";

export const rolloutFiguresSchema = lazySchema((z) =>
  z.object({
    step: z.number(),
    /** Rollouts of one task in one step are compared with each other. */
    group: z.string(),
    advantage: z.number().optional(),
    /** What its reward was compared with. */
    baseline: z.number().optional(),
    kept: z.boolean(),
    /** Why it was not used: `all-right`, `all-wrong`, `uncredited`, `unjudged`, `too-long`, `stale`… */
    dropped: z.string().optional(),
    /** Tokens whose ratio was clipped in the update. */
    clippedTokens: z.number().optional(),
    /** Probability now / probability when sampled, over its tokens. */
    ratio: z.object({ mean: z.number(), min: z.number(), max: z.number() }).optional(),
  }),
);
export type RolloutFigures = z.infer<typeof rolloutFiguresSchema>;
