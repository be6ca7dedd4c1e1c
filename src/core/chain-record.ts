/**
 * What a running chain writes down so that a killed run can continue: each finished model turn and each finished tool call,
 * as they happen. Resuming feeds these records through the same loop instead of asking the model or the tool again, so
 * a resumed chain and an uninterrupted one can't differ.
 */
import { z } from "zod";
import { trajectorySchema } from "./trajectory-schema.ts";

/** What can end a chain early. */
export const limitNames = [
  "steps",
  "completion-tokens",
  "total-tokens",
  "context",
  "wall-time",
  "money",
  "tool-calls",
] as const;
export type LimitName = (typeof limitNames)[number];

const sampledTokenSchema = z.object({
  token: z.number(),
  logprob: z.number().optional(),
  entropy: z.number().optional(),
  /** Where in the text it begins. */
  at: z.number(),
});
export type SampledToken = z.infer<typeof sampledTokenSchema>;

const callUsage = z.object({
  promptTokens: z.number(),
  completionTokens: z.number(),
  cachedTokens: z.number().optional(),
});

const base = z.object({ version: z.literal(1), trajectoryId: z.string(), elapsedMs: z.number() });

const turnRecordSchema = z.object({
  ...base.shape,
  type: z.literal("turn"),
  /** Number of the model call, from 0. */
  call: z.number(),
  /** Set when this call asked for the answer because of that limit. */
  final: z.enum(limitNames).optional(),
  /** What was received from the model, up to the end of its turn. */
  text: z.string(),
  tokens: z.array(sampledTokenSchema).optional(),
  policyVersion: z.number().optional(),
  finish: z.enum(["stop", "length", "end", "deadline"]),
  usage: callUsage,
  keptTokens: z.number(),
});
export type TurnRecord = z.infer<typeof turnRecordSchema>;

const toolRecordSchema = z.object({
  ...base.shape,
  type: z.literal("tool"),
  call: z.number(),
  /** Which input of the turn, from 0. */
  index: z.number(),
  tool: z.string(),
  input: z.unknown(),
  ok: z.boolean(),
  /** Neutralised, not yet capped. */
  output: z.string(),
  ms: z.number(),
  answeredBy: z.enum(["recording", "not-recorded"]).optional(),
  fault: z.string().optional(),
});
export type ToolRecord = z.infer<typeof toolRecordSchema>;

const compactionRecordSchema = z.object({
  ...base.shape,
  type: z.literal("compaction"),
  call: z.number(),
  replaced: z.array(z.object({ segment: z.number(), text: z.string() })),
});
export type CompactionRecord = z.infer<typeof compactionRecordSchema>;

export const chainRecordSchema = z.discriminatedUnion("type", [
  z.object({ ...base.shape, type: z.literal("start"), taskId: z.string(), profile: z.string(), model: z.string() }),
  turnRecordSchema,
  toolRecordSchema,
  compactionRecordSchema,
  z.object({ ...base.shape, type: z.literal("end"), trajectory: trajectorySchema }),
]);
export type ChainRecord = z.infer<typeof chainRecordSchema>;
