/** A grader decides whether an answer is right, and says why. The same graders reward RL, filter data and evaluate. */
import { z } from "zod";
import type { Task } from "./task.ts";
import type { Trajectory } from "./trajectory.ts";

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

export type Grade = z.infer<typeof gradeSchema>;

export type Grader = (task: Task, answer: string | null, options?: { signal?: AbortSignal }) => Promise<Grade> | Grade;

/** The verdict on a chain, and what it is worth. */
export interface RewardResult extends Grade {
  /** null: could not be judged, or left out on purpose; the rollout is excluded from its group. */
  reward: number | null;
  /** Why it is excluded, in a word: `unjudged`, `too-long`. */
  excluded?: string;
}

/** The reward of a finished chain: RL, the reward server and filters call it, graders make it. */
export type Reward = (trajectory: Trajectory, task: Task, signal?: AbortSignal) => Promise<RewardResult>;
