/**
 * A stage is a named filter: it keeps a trajectory or says why not, with the figure it looked at. Stages know nothing of each other and nothing of
 * files; the pipeline runs them in order and counts. A filter of your own is the same thing: a name and a function.
 */

import type { Task } from "../../core/task.ts";
import type { TeamRun } from "../../core/team-run.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Profile } from "../../language/profile.ts";

/** What a stage found: a reason drops the trajectory; what it measured is kept either way. */
export interface StageVerdict {
  /** Short, because reasons are counted; absent keeps the trajectory. */
  reason?: string;
  detail?: string;
  /** What was measured, e.g. `interactions`. */
  measure?: string;
  value?: number;
  threshold?: number;
}

export interface StageContext {
  profile: Profile;
  /** The task that was worked on, where it is known. */
  task?: Task;
  /** The run a distilled trajectory came from; absent for chains. */
  run?: TeamRun;
  signal?: AbortSignal;
}

export interface Stage {
  name: string;
  /** Null keeps it. */
  judge(trajectory: Trajectory, context: StageContext): StageVerdict | null | Promise<StageVerdict | null>;
}

/** Defines a filter of your own; it may return a reason as plain text. */
export function defineFilter(filter: {
  name: string;
  judge(trajectory: Trajectory, context: StageContext): ReturnType<Stage["judge"]> | string | Promise<string>;
}): Stage {
  return {
    name: filter.name,
    async judge(trajectory, context) {
      const verdict = await filter.judge(trajectory, context);
      return typeof verdict === "string" ? { reason: verdict } : verdict;
    },
  };
}
