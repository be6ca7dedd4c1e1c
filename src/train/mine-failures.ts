/**
 * Tasks worth training on. A group of rollouts teaches only where the model is sometimes right and sometimes wrong, and
 * most tasks of a good model are neither. One greedy attempt costs an eighth of a group of eight: tasks that fail it
 * are taken, with a share of others so that the model keeps what it knows.
 */
import type { Task } from "../core/task.ts";

export interface MiningOptions {
  /** Proposes tasks of a step and round; asked for more than needed, because most are skipped. */
  propose: (step: number, round: number, count: number) => Promise<readonly Task[]> | readonly Task[];
  /** Whether the model, as it is at this step, answers the task greedily. */
  solves: (task: Task, step: number) => Promise<boolean>;
  /** Proposals for each task wanted; 4 by default. */
  proposals?: number;
  /** Share of the tasks that are taken whatever the attempt says; 0.25 by default. */
  others?: number;
}

/** A source of tasks in which greedy failures come first. Where there are too few, solved tasks fill up. */
export function mineFailures(options: MiningOptions): (step: number, round: number, count: number) => Promise<Task[]> {
  const { proposals = 4, others = 0.25 } = options;
  return async (step, round, count) => {
    const proposed = await options.propose(step, round, Math.ceil(count * proposals));
    const solved = await Promise.all(proposed.map((task) => options.solves(task, step)));
    const failed = proposed.filter((_, at) => !solved[at]);
    const passed = proposed.filter((_, at) => solved[at]);
    const mined = failed.slice(0, count - Math.min(passed.length, Math.round(count * others)));
    return [...mined, ...passed.slice(0, count - mined.length)];
  };
}
