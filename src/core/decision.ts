/**
 * What a filter decided about a record, with the figure it looked at and the bound it compared it with, so that a
 * threshold can be judged, drawn and changed without running the filter again.
 */
import type { z } from "zod";
import { lazySchema } from "./lazy-schema.ts";

export const filterDecisionSchema = lazySchema((z) =>
  z.object({
    /** Name of the filter. */
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
  }),
);
export type FilterDecision = z.infer<typeof filterDecisionSchema>;
