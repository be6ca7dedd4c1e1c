/** A task as trainers send it: whole under `task`, or as a question with its right answers. */
import { Refusal } from "../base/http/refusal.ts";
import { asObject, asString, type Json } from "../core/json-value.ts";
import { defineTask, type Task, type TaskKind, taskKinds, taskSchema } from "../core/task.ts";

/** Reads the task of an item. `graded`: without right answers it is refused; else a question is enough. */
export function readTask(item: Json, { id, graded }: { id: string; graded: boolean }): Task {
  if (item["task"] !== undefined) {
    const parsed = taskSchema.safeParse({ version: 1, id, kind: "qa", ...asObject(item["task"]) });
    if (parsed.success) return parsed.data;
    const needed = graded ? "a question and answers" : "a question";
    throw new Refusal(400, `the task is not complete: it needs ${needed}`, { param: "task" });
  }
  const answers = [item["answers"]].flat().filter((one) => one !== undefined && one !== null);
  if (graded && answers.length === 0)
    throw new Refusal(400, "a task or right answers are needed", { param: "answers" });
  const kind = asString(item["kind"]) as TaskKind | undefined;
  if (kind !== undefined && !taskKinds.includes(kind))
    throw new Refusal(400, `there is no kind "${kind}"`, { param: "kind" });
  const question = asString(item["question"]) || (graded ? "?" : "");
  if (question === "") throw new Refusal(400, "a task or a question is needed", { param: "question" });
  return defineTask({ id, question, answers: answers.map(String), ...(kind && { kind }) });
}
