/**
 * A corrector takes over a chain that went wrong: given what was written so far, it finds the first wrong step and says
 * how a better system (the team, a stronger model) continues from there. On-policy distillation trains on its answer.
 */
import type { Task } from "../core/task.ts";
import type { Segment, Trajectory } from "../core/trajectory.ts";
import type { Usage } from "../core/usage.ts";

export interface Correction {
  /** Index of the first segment that is replaced; everything before it stays as the student wrote it. */
  from: number;
  /** What should be there instead. */
  segments: Segment[];
  /** What finding it cost. */
  usage: Usage;
}

export interface Corrector {
  readonly name: string;
  /** Which rollouts it is asked about: those that were graded wrong (default), or all. */
  readonly asks?: "wrong" | "all";
  /** null: nothing to correct, or a state that it can't continue (`reason` says which). */
  correct(
    task: Task,
    trajectory: Trajectory,
    options?: {
      /** Whether the chain's answer was graded right, where somebody could tell. */
      correct?: boolean | null;
      signal?: AbortSignal;
    },
  ): Promise<{ correction: Correction } | { correction: null; reason: string }>;
}
