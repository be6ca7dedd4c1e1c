/**
 * A trajectory is what one model decoded for one task: a list of segments, each a tag with its body, written by the
 * model or by a tool. Joined in order, the segments' written forms are exactly the decoded sequence, so a trajectory can
 * be replayed, validated, masked and trained on without parsing text again. Where the model works on tokens, ids and
 * log-probabilities are kept as sampled, because tokenizing the text again can split it differently.
 */
import { z } from "zod";
import { filterDecisionSchema, rolloutFiguresSchema, servedSchema } from "./chain-marks.ts";
import { endingSchema } from "./ending-schema.ts";
import { messageSchema } from "./message.ts";
import type { ChainLanguage } from "./profile.ts";
import { usageSchema } from "./usage-schema.ts";

const segmentSchema = z.object({
  tag: z.string(),
  text: z.string(),
  /** Who wrote it: the model, a tool (an observation), or the runtime (a request to answer now, a format error). */
  by: z.enum(["model", "tool", "runtime"]),
  /** Exactly what was written, tags and white space around them included. Absent when it is `<tag>text</tag>`. */
  raw: z.string().optional(),
  /** Token ids of the written form, as sampled or as appended. */
  tokens: z.array(z.number()).optional(),
  /** One log-probability per token of a segment by the model, of exactly the distribution it was sampled from. */
  logprobs: z.array(z.number()).optional(),
  /** Entropy of the distribution of each sampled token, in nats, where the engine gives it. */
  entropies: z.array(z.number()).optional(),
  /** When it was written, in milliseconds since the chain (or the team's first step) began. */
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** Which version of the policy wrote it, in RL. */
  policyVersion: z.number().optional(),
  /** Where a distilled segment came from: the agent and the step of the team run. */
  from: z.object({ agent: z.string(), step: z.string() }).optional(),
  /** Written by the distiller to satisfy the profile, not found in the recording. Never trained on. */
  filled: z.boolean().optional(),
  /** On an observation: which call it answers, how it went, how long it took. */
  call: z
    .object({
      /** The id under which a client answers it. */
      id: z.string().optional(),
      tool: z.string(),
      input: z.unknown(),
      ok: z.boolean(),
      ms: z.number(),
      /** The same call was made before; this is the earlier result. */
      repeated: z.boolean().optional(),
      /** Characters cut out of the middle of the tool's output. */
      cutCharacters: z.number().optional(),
      /** Where the result came from when no tool of ours ran: a client, a recording, or a recording that lacks the call. */
      answeredBy: z.enum(["client", "recording", "not-recorded"]).optional(),
      /** The kind of the fault that was injected into it (`empty`, `timeout`…), where one was. */
      fault: z.string().optional(),
    })
    .optional(),
});
export type Segment = z.infer<typeof segmentSchema>;

const violationSchema = z.object({
  /** Name of the rule that was broken, e.g. `successor`, `think-missing`, `gate-double_check`. */
  rule: z.string(),
  /** Index of the segment that broke it. */
  segment: z.number(),
  message: z.string(),
});
export type Violation = z.infer<typeof violationSchema>;

const compactionSchema = z.object({
  /** Number of the model call before which it happened, from 0. */
  beforeCall: z.number(),
  /** Index of the first segment that was written in the shortened context. */
  fromSegment: z.number(),
  /** What the model was shown in the place of these segments from then on. */
  replaced: z.array(
    z.object({
      segment: z.number(),
      text: z.string(),
      raw: z.string().optional(),
      tokens: z.array(z.number()).optional(),
    }),
  ),
});
export type Compaction = z.infer<typeof compactionSchema>;

/** A call that waits for its result from outside, in a suspended chain. */
const pendingCallSchema = z.object({
  id: z.string(),
  tool: z.string(),
  input: z.unknown(),
  /** Index of the segment that made the call. */
  segment: z.number(),
});
export type PendingCall = z.infer<typeof pendingCallSchema>;

/** What distillation knows of the run a chain was made from. */
const distilledSchema = z.object({
  topology: z.string(),
  source: z.string(),
  filledThoughts: z.number(),
  filledChecks: z.number(),
  /** Calls that the team made twice and the chain shows once. */
  repeatedCalls: z.number().default(0),
  team: z.object({
    billedTokens: z.number(),
    computedTokens: z.number(),
    modelCalls: z.number(),
    toolCalls: z.number(),
    agents: z.number(),
  }),
});
export type Distilled = z.infer<typeof distilledSchema>;

export const trajectorySchema = z.object({
  version: z.literal(1),
  id: z.string(),
  taskId: z.string(),
  /** Turns of one conversation share it. */
  session: z.string().optional(),
  family: z.string().optional(),
  /** The profile's name; `language` has it whole. */
  profile: z.string(),
  /** Profile, tools and observation style by value. Checked by `chainLanguageSchema` where it is used, not at every read. */
  language: z.custom<ChainLanguage>((value) => value === undefined || typeof value === "object").optional(),
  model: z.string(),
  /** What the model was given before it began: system message, history, question. */
  prompt: z.array(messageSchema),
  promptTokens: z.array(z.number()).optional(),
  segments: z.array(segmentSchema),
  /** What was shown shortened, in order: with it every token can be put back into the context it was sampled in. */
  compactions: z.array(compactionSchema).optional(),
  answer: z.string().nullable(),
  ending: endingSchema,
  /** Calls that a suspended chain waits for. */
  pending: z.array(pendingCallSchema).optional(),
  usage: usageSchema,
  violations: z.array(violationSchema).default([]),
  reward: z.number().optional(),
  /** Where it came from: `chain`, `distilled` from a team run, `imported`. */
  source: z.object({ kind: z.string(), id: z.string().optional() }).optional(),
  distilled: distilledSchema.optional(),
  /** Every step of the team that the chain does not show, and why. */
  leftOut: z.array(z.object({ agent: z.string(), step: z.string(), reason: z.string() })).optional(),
  decisions: z.array(filterDecisionSchema).optional(),
  rollout: rolloutFiguresSchema.optional(),
  /** Which policy version sampled it, in RL; segments say so where it changed on the way. */
  policyVersion: z.number().optional(),
  /** The segment from which on a rollout of a tree is its own, in RL. */
  branch: z.number().optional(),
  /** When it began, in milliseconds since 1970. */
  startedAt: z.number().optional(),
  /** Why the end could not be written to the journal. */
  notRecorded: z.string().optional(),
  /** Who asked a server for it and may have it deleted: a caller's key, by its digest. Absent where anyone may. */
  owner: z.string().optional(),
  served: servedSchema.optional(),
  /** The user's own notes; nothing here is read by this package. */
  meta: z.record(z.string(), z.unknown()).optional(),
});
export type Trajectory = z.infer<typeof trajectorySchema>;
