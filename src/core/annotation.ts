/**
 * What a person decided about a chain: keep it, drop it, or put other words into some of its segments; in review, or as a
 * user of the served model. Annotations are only ever appended; of those for one chain the last one counts. Each names the chain by its id and by a hash of its
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

export const feedbackSchema = z.object({
  /** From 0 (wrong) to 1 (right). */
  score: z.number().min(0).max(1).optional(),
  label: z.string().min(1).max(200).optional(),
  /** The answer that would have been right. */
  correction: z.string().trim().min(1).max(100_000).optional(),
  comment: z.string().min(1).max(10_000).optional(),
});

/** What a user said about an answer. */
export type Feedback = z.infer<typeof feedbackSchema>;

const base = {
  version: z.literal(1),
  target: targetSchema,
  at: z.string(),
  /** What a user of the served model said, where this was made of it. */
  feedback: feedbackSchema.optional(),
};

export const annotationSchema = z.discriminatedUnion("verdict", [
  z.object({ ...base, verdict: z.literal("keep") }),
  z.object({ ...base, verdict: z.literal("drop") }),
  /** All edits of the chain together, so that the last annotation says everything. */
  z.object({ ...base, verdict: z.literal("edit"), edits: z.array(editSchema).min(1) }),
  /** Takes back what was decided before. */
  z.object({ ...base, verdict: z.literal("undo") }),
  /** Decides nothing: what was decided before stays. */
  z.object({ ...base, verdict: z.literal("note") }),
]);

/** One decision of a person about a chain. */
export type Annotation = z.infer<typeof annotationSchema>;

export type AnnotationTarget = z.infer<typeof targetSchema>;

export function chainHash({ prompt, segments }: Pick<Trajectory, "prompt" | "segments">): string {
  const asked = prompt.map(({ role, content }) => [role, content]);
  return fingerprint(JSON.stringify([asked, trajectoryText(segments)]));
}
