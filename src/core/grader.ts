/** A grader decides whether an answer is right, and says why. The same graders reward RL, filter data and evaluate. */
import { z } from "zod";
import type { Task } from "./task.ts";

export const gradeSchema = z.object({
  /** `null`: the grader could not decide (a judge that failed). Counted separately, never as a wrong answer. */
  correct: z.boolean().nullable(),
  /** 0 to 1; partial credit where the grader has it (F1, share of tests passed). */
  score: z.number(),
  reason: z.string(),
  /** Whose rule decided: the scorer by name, with the judge's prompt where a model did. */
  scorer: z.string().optional(),
  /** How sure the answer was of itself, 0 to 1, where the judge reads that too. */
  confidence: z.number().optional(),
});

/** The verdict on an answer. */
export type Grade = z.infer<typeof gradeSchema>;

export type Grader = (task: Task, answer: string | null, options?: { signal?: AbortSignal }) => Promise<Grade> | Grade;
