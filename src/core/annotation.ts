/**
 * What a person decided about a chain: keep it, drop it, or put other words into some of its segments. Annotations are
 * only ever appended; of those for one chain the last one counts. Each names the chain by its id and by a hash of its
 * words, so that a new chain with an old id does not get the old decision.
 */

import { z } from "zod";
import { fingerprint } from "./fingerprint.ts";
import { type Trajectory, trajectoryText } from "./trajectory.ts";

const targetSchema = z.object({
  kind: z.literal("chain"),
  id: z.string(),
  /** `chainHash` of the chain that was looked at. */
  hash: z.string(),
});

const editSchema = z.object({ segment: z.number().int().nonnegative(), text: z.string() });

/** Other words for one segment. */
export type SegmentEdit = z.infer<typeof editSchema>;

const base = { version: z.literal(1), target: targetSchema, at: z.string() };

export const annotationSchema = z.discriminatedUnion("verdict", [
  z.object({ ...base, verdict: z.literal("keep") }),
  z.object({ ...base, verdict: z.literal("drop") }),
  /** All edits of the chain together, so that the last annotation says everything. */
  z.object({ ...base, verdict: z.literal("edit"), edits: z.array(editSchema).min(1) }),
  /** Takes back what was decided before. */
  z.object({ ...base, verdict: z.literal("undo") }),
]);

/** One decision of a person about a chain. */
export type Annotation = z.infer<typeof annotationSchema>;

/** Which chain an annotation is about. */
export type AnnotationTarget = z.infer<typeof targetSchema>;

/** A hash of a chain's question and its segments. */
export function chainHash({ prompt, segments }: Pick<Trajectory, "prompt" | "segments">): string {
  const asked = prompt.map(({ role, content }) => [role, content]);
  return fingerprint(JSON.stringify([asked, trajectoryText(segments)]));
}
