/** A reward says what a finished chain earned. Graders make rewards; RL, the reward server and filters ask them. */
import type { Grade } from "./grader.ts";
import type { Task } from "./task.ts";
import type { Trajectory } from "./trajectory.ts";

/** The verdict on a chain, and what it is worth. */
export interface RewardResult extends Grade {
  /** null: could not be judged, or left out on purpose; the rollout is excluded from its group. */
  reward: number | null;
  /** Why it is excluded, in a word: `unjudged`, `too-long`. */
  excluded?: string;
}

/** Judges one trajectory of a task. */
export type Reward = (trajectory: Trajectory, task: Task, signal?: AbortSignal) => Promise<RewardResult>;
