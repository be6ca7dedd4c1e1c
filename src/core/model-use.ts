/**
 * How a model is to be used, as it was taught: `coa.json` in its folder. It holds the profile and the tools' schemas by
 * value and the tools themselves by name only, so reading a downloaded folder never runs code and never opens a
 * connection.
 */
import { z } from "zod";
import { chainLanguageSchema } from "./profile.ts";

const trainingSchema = z.object({
  /** What was done: `sft`, `rl`, `opd`, `average`. */
  stage: z.string(),
  /** The model it began with, where it was not a new one. */
  from: z.string().optional(),
  /** Fingerprint of the data: a dataset's, or of the tasks. */
  data: z.string().optional(),
  seed: z.number().optional(),
  packageVersion: z.string().optional(),
});

export const modelUseSchema = z.object({
  version: z.literal(1),
  /** Profile with its observation style, and the tools that it was taught with. */
  language: chainLanguageSchema,
  /** How the question is put: alone, or after the profile's system prompt. */
  question: z.enum(["bare", "system-prompt"]),
  /** Limits that suit it, by the names of the chain's limits. */
  limits: z.record(z.string(), z.number()).optional(),
  /** Its tools belong to a made-up world and exist nowhere else. */
  world: z.enum(["lab"]).optional(),
  /** Fingerprint of the tokenizer it was taught with. */
  tokenizer: z.string().optional(),
  /** How it was trained, oldest step first. */
  training: z.array(trainingSchema).default([]),
});

/** How a model is to be used, as it was taught. */
export type ModelUse = z.infer<typeof modelUseSchema>;

export type ModelTraining = z.infer<typeof trainingSchema>;
