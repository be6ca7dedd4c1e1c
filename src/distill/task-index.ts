/**
 * Which task a run worked on. Our own teams write the task's id into the run; a recording of another system knows
 * only the question, so tasks are found by their question too, word for word but for case, white space and quotes around it.
 */
import type { Task } from "../core/task.ts";

export interface TaskIndex {
  find(id: string | undefined, question: string): Task | undefined;
}

/** A question must have this many characters to be looked for inside a longer prompt. */
const shortestPart = 20;

/** An index of tasks; of equal ids the last one counts. */
export function taskIndex(tasks: Iterable<Task>): TaskIndex {
  const byId = new Map<string, Task>();
  for (const task of tasks) byId.set(task.id, task);
  const byQuestion = Map.groupBy(byId.values(), ({ question }) => plain(question));
  return {
    find(id, question) {
      const named = id === undefined ? undefined : byId.get(id);
      if (named) return named;
      const asked = plain(question);
      const same = byQuestion.get(asked);
      // Two tasks with one question and other answers: neither is known to be meant.
      if (same) return same.length === 1 ? same[0] : undefined;
      const parts = [...byQuestion].filter(([text]) => text.length >= shortestPart && asked.includes(text));
      const [longest, ...others] = parts.sort(([a], [b]) => b.length - a.length);
      const sure = longest?.[1].length === 1 && others.every(([text]) => longest[0].includes(text));
      return sure ? longest[1][0] : undefined;
    },
  };
}

function plain(question: string): string {
  return question
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/\s+/g, " ")
    .replaceAll(/^[\s"'“”‘’«»]+|[\s"'“”‘’«»]+$/g, "");
}
