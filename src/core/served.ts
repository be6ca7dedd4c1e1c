/** What serving adds to a chain: the old system beside it, and the choice among several chains of one request. */
import type { z } from "zod";
import { lazySchema } from "./lazy-schema.ts";

/** One answer of the old system, or why there is none. */
const oldAnswerSchema = lazySchema((z) =>
  z.object({
    model: z.string(),
    answer: z.string().optional(),
    ms: z.number().optional(),
    usage: z.object({ promptTokens: z.number(), completionTokens: z.number() }).optional(),
    error: z.string().optional(),
  }),
);

export const servedSchema = lazySchema((z) =>
  z.object({
    /** The old system answered the caller and the chain ran beside it; `agrees` is null where that can't be told. */
    shadow: oldAnswerSchema.extend({ agrees: z.boolean().nullable() }).optional(),
    /** The old system was asked because the chain had no answer, or not a sure one: `no-answer`, `error`, `low-check`. */
    fallback: oldAnswerSchema.extend({ reason: z.string() }).optional(),
    /** It was chosen among `n` chains; `chosen` is null where none has an answer. */
    bestOf: z.object({ n: z.number(), chosen: z.number().nullable(), reason: z.string() }).optional(),
  }),
);
export type Served = z.infer<typeof servedSchema>;
