/** How a run ended, in one vocabulary for chains, teams and systems under evaluation. */
import { z } from "zod";

export const endingSchema = z.object({
  /**
   * `answered`: it gave its answer. `suggested`: limits were reached, the last suggested answer was used. `no-answer`: it
   * stopped without one. `limit`: a limit was reached and nothing could be used. `error`: model or engine failed.
   * `aborted`: the caller stopped it. `suspended`: it waits for the results of calls that the caller must make.
   */
  reason: z.enum(["answered", "suggested", "no-answer", "limit", "error", "aborted", "suspended"]),
  /** Which limit, or the error's message. */
  detail: z.string().optional(),
  /** The error's code, where it was one. */
  code: z.string().optional(),
  /** When the server that failed wants the next try. */
  retryAfterMs: z.number().optional(),
});
export type Ending = z.infer<typeof endingSchema>;
