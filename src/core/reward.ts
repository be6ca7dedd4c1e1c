/** A reward says what a finished chain earned. Graders make rewards; RL, the reward server and filters ask them. */
import type { Task } from "./task.ts";
import type { Trajectory } from "./trajectory.ts";

export interface RewardResult {
  /** null: could not be judged; the rollout is excluded from its group. */
  reward: number | null;
  correct: boolean | null;
  reason: string;
}

/** Judges one trajectory of a task. */
export type Reward = (trajectory: Trajectory, task: Task, signal?: AbortSignal) => Promise<RewardResult>;
