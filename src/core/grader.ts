/** A grader decides whether an answer is right, and says why. The same graders reward RL, filter data and evaluate. */
import type { Task } from "./task.ts";

export interface Grade {
  /** `null`: the grader could not decide (a judge that failed). Counted apart, never as a wrong answer. */
  correct: boolean | null;
  /** 0 to 1; partial credit where the grader has it (F1, share of tests passed). */
  score: number;
  reason: string;
}

export type Grader = (task: Task, answer: string | null, options?: { signal?: AbortSignal }) => Promise<Grade> | Grade;
