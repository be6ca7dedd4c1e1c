/** Making and counting tasks. */
import { fingerprint } from "./fingerprint.ts";
import type { CodeTests, Rightness, Task, TaskKind } from "./task-schema.ts";

export type { CodeTests, Rightness, Task, TaskKind };

/** Makes a task from the few fields that matter; the rest gets its defaults. */
export function defineTask(task: Partial<Task> & Pick<Task, "id" | "question">): Task {
  return { version: 1, kind: "qa", answers: [], ...task };
}

/** A question as a task: equal questions are equal tasks. */
export function taskOf(task: Task | string): Task {
  return typeof task === "string" ? defineTask({ id: fingerprint(task).slice(0, 12), question: task }) : task;
}

/** How many of these tasks are known to be right by what; a task that says nothing of it comes from a file of tasks. */
export function countRightness(tasks: Iterable<Task>): Partial<Record<Rightness, number>> {
  const counts: Partial<Record<Rightness, number>> = {};
  for (const { rightness = "task file" } of tasks)
    if (rightness !== "wrong" && rightness !== "unknown") counts[rightness] = (counts[rightness] ?? 0) + 1;
  return counts;
}
