/** One line of an evaluation: what one system did with one sample of one task, and how it was graded. */
import { z } from "zod";
import { endingSchema } from "../core/ending-schema.ts";
import { gradeSchema } from "../core/grader.ts";
import { usageSchema } from "../core/usage-schema.ts";

export const evaluationRecordSchema = z.object({
  version: z.literal(1),
  system: z.string(),
  taskId: z.string(),
  sample: z.number(),
  seed: z.number(),
  family: z.string().optional(),
  level: z.union([z.string(), z.number()]).optional(),
  answer: z.string().nullable(),
  grade: gradeSchema,
  ending: endingSchema,
  usage: usageSchema,
  toolCalls: z.record(z.string(), z.number()),
  tokensByRole: z.record(z.string(), z.number()),
  /** Turns that had to wait for each other, and the time along them. */
  path: z.object({ rounds: z.number(), ms: z.number() }).optional(),
  /** Times that the model broke the form of its language. */
  formatErrors: z.number().optional(),
  /** The score that the system's own check gave the answer. */
  check: z.number().optional(),
  /** Calls that a recording answered, and those it lacked; absent where the tools were live. */
  replayed: z.object({ calls: z.number(), missing: z.number() }).optional(),
  /** Id of the trajectory or team run in `runs.jsonl`. */
  run: z.object({ kind: z.enum(["trajectory", "team-run"]), id: z.string() }).optional(),
});
export type EvaluationRecord = z.infer<typeof evaluationRecordSchema>;

export function recordKey(record: { taskId: string; sample: number }): string {
  return `${record.taskId}\u0000${record.sample}`;
}
