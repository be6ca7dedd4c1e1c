/**
 * How it is known that an answer is right. Recordings carry no gold answers, so what a number or a dataset is worth depends
 * on this, and both say it. "assumed" is never called success.
 */
import type { Task } from "./task.ts";

/** From the surest to the least sure: a file of tasks, a score in the recording, a judge, nobody. */
export const rightnesses = ["task file", "feedback", "judge", "assumed"] as const;
export type Rightness = (typeof rightnesses)[number];

/** How a task's answers are known to be right; a task that says nothing of it comes from a file of tasks. */
export function rightnessOf(task: Pick<Task, "meta">): Rightness {
  return rightnesses.find((one) => one === task.meta?.["right"]) ?? "task file";
}

/** How many of these tasks are known to be right by what. */
export function countRightness(tasks: Iterable<Pick<Task, "meta">>): Partial<Record<Rightness, number>> {
  const counts: Partial<Record<Rightness, number>> = {};
  for (const task of tasks) counts[rightnessOf(task)] = (counts[rightnessOf(task)] ?? 0) + 1;
  return counts;
}
