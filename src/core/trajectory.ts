/**
 * A trajectory is what one model decoded for one task: a list of segments, each a tag with its body, written by the
 * model or by a tool. Joined in order, the segments' written forms are exactly the decoded sequence, so a trajectory can
 * be replayed, validated, masked and trained on without parsing text again. Where the model works on tokens, ids and
 * log-probabilities are kept as sampled, because tokenizing the text again can split it differently.
 */
import { z } from "zod";
import { messageSchema } from "./message.ts";
import { usageSchema } from "./usage.ts";

/** The tag of text that stands outside any tag (a violation, but it was written, so it is kept). */
export const looseText = "text";

export const segmentSchema = z.object({
  tag: z.string(),
  /** The body between the tags. */
  text: z.string(),
  /** Who wrote it: the model, a tool (an observation), or the runtime (a request to answer now, a format error). */
  by: z.enum(["model", "tool", "runtime"]),
  /** Exactly what was written, tags and white space around them included. Absent when it is `<tag>text</tag>`. */
  raw: z.string().optional(),
  /** Token ids of the written form, as sampled or as appended. */
  tokens: z.array(z.number()).optional(),
  /** One log-probability per token of a segment by the model, of exactly the distribution it was sampled from. */
  logprobs: z.array(z.number()).optional(),
  /** On an observation: which call it answers, how it went, how long it took. */
  call: z
    .object({
      tool: z.string(),
      input: z.unknown(),
      ok: z.boolean(),
      ms: z.number(),
      /** The same call was made before; this is the earlier result. */
      repeated: z.boolean().optional(),
      /** Characters cut out of the middle of the tool's output. */
      cutCharacters: z.number().optional(),
    })
    .optional(),
});
export type Segment = z.infer<typeof segmentSchema>;

export const endingSchema = z.object({
  /**
   * `answered`: an answer tag. `suggested`: limits were reached, the last suggested answer was used. `no-answer`: it
   * stopped without one. `limit`: a limit was reached and nothing could be used. `error`: model or engine failed.
   * `aborted`: the caller stopped it.
   */
  reason: z.enum(["answered", "suggested", "no-answer", "limit", "error", "aborted"]),
  /** Which limit, or the error's message. */
  detail: z.string().optional(),
});
export type Ending = z.infer<typeof endingSchema>;

export const violationSchema = z.object({
  /** Name of the rule that was broken, e.g. `successor`, `think-missing`, `gate-double_check`. */
  rule: z.string(),
  /** Index of the segment that broke it. */
  segment: z.number(),
  message: z.string(),
});
export type Violation = z.infer<typeof violationSchema>;

export const trajectorySchema = z.object({
  version: z.literal(1),
  id: z.string(),
  taskId: z.string(),
  profile: z.string(),
  model: z.string(),
  /** What the model was given before it began: system and user messages. */
  prompt: z.array(messageSchema),
  promptTokens: z.array(z.number()).optional(),
  segments: z.array(segmentSchema),
  answer: z.string().nullable(),
  ending: endingSchema,
  usage: usageSchema,
  violations: z.array(violationSchema).default([]),
  reward: z.number().optional(),
  /** Where it came from: `chain`, `distilled` from a team run, `imported`. */
  source: z.object({ kind: z.string(), id: z.string().optional() }).optional(),
  /** Which policy version sampled it, in RL. */
  policyVersion: z.number().optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
});
export type Trajectory = z.infer<typeof trajectorySchema>;

/** A segment exactly as it stands in the decoded sequence. */
export function writtenForm(segment: Segment): string {
  if (segment.raw !== undefined) return segment.raw;
  return segment.tag === looseText ? segment.text : `<${segment.tag}>${segment.text}</${segment.tag}>`;
}

/** The whole decoded sequence after the prompt. */
export function trajectoryText(segments: readonly Segment[]): string {
  return segments.map(writtenForm).join("");
}
