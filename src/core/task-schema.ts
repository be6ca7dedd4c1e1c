/**
 * A task is a question, and what a right answer is. How an answer is checked is named by `kind`, so that the same task
 * file serves the team, the chain, RL rewards and evaluation. Tests of a code task are data too.
 */
import { z } from "zod";
import { messageSchema } from "./message.ts";

/** Which grader decides: exact QA match, model judge, math equivalence, GAIA rules, program tests. */
export const taskKinds = ["qa", "judge", "math", "gaia", "code"] as const;
export type TaskKind = (typeof taskKinds)[number];

/** Tests of a program: by standard input and output, or by calling one function with JSON arguments. */
export const codeTests = z.object({
  /** Name of the function to call; absent means the program reads stdin and writes stdout. */
  functionName: z.string().optional(),
  /** stdin text, or for a function a JSON array of arguments (one JSON value per line is accepted too). */
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  alsoRight: z.array(z.array(z.string())).optional(),
  /** Printed numbers may be off by the larger of the two. */
  tolerance: z.object({ absolute: z.number().optional(), relative: z.number().optional() }).optional(),
  starterCode: z.string().optional(),
  timeLimitMs: z.number().optional(),
  memoryLimitMb: z.number().optional(),
  /** They are only those that anyone can see: a score on them is too high. */
  publicOnly: z.boolean().optional(),
});
export type CodeTests = z.infer<typeof codeTests>;

/**
 * How it is known that an answer is right, from the surest to the least sure: a file of tasks, a score in the recording, a
 * judge, an assumption. Recordings carry no gold answers, so what a number or a dataset is worth depends on this, and both
 * state it. "assumed" is never called success.
 */
export const rightnesses = ["task file", "feedback", "judge", "assumed"] as const;
export type Rightness = (typeof rightnesses)[number];

export const taskSchema = z.object({
  version: z.literal(1),
  id: z.string().min(1),
  question: z.string().min(1),
  /** The conversation before the question, oldest first; the question itself is not in it. */
  history: z.array(messageSchema).optional(),
  /** Turns of one conversation share it, so that a split of the data never separates them. */
  session: z.string().optional(),
  kind: z.enum(taskKinds),
  /** Every accepted answer; empty when unknown (a task can be run without being graded). */
  answers: z.array(z.string()).default([]),
  tests: codeTests.optional(),
  /** The benchmark's own scorer by name (`gaia`, `livecodebench`…); where absent the first of its kind. */
  scorer: z.string().optional(),
  /** Group for per-family numbers and for balance: `hop2`, `algebra`, `GAIA`. */
  family: z.string().optional(),
  level: z.union([z.string(), z.number()]).optional(),
  /** Files that come with the question (images, tables), as paths. */
  files: z.array(z.string()).optional(),
  /** Where it came from: dataset and split. */
  source: z.string().optional(),
  /** How its answers are known to be right (from a file of tasks where absent), or that its recorded answer was wrong. */
  rightness: z.enum([...rightnesses, "wrong", "unknown"]).optional(),
  /** The made-up world of the lab that it asks about: these options make it again. */
  world: z
    .object({
      seed: z.number(),
      pages: z.number(),
      split: z.enum(["train", "test"]),
      homonyms: z.number(),
      variant: z.number(),
    })
    .optional(),
  /** Ids of the documents that it was made from. */
  documents: z.array(z.string()).optional(),
  hasImage: z.boolean().optional(),
  /** When it was first published, as ISO 8601. */
  date: z.string().optional(),
  /** Id in the benchmark's release, by which tests that the file leaves out are joined. */
  questionId: z.string().optional(),
  /** The user's own notes; nothing here is read by this package. */
  meta: z.record(z.string(), z.unknown()).optional(),
});

/** A question, and what a right answer is. */
export type Task = z.infer<typeof taskSchema>;
