/** A task as trainers send it: whole under `task`, or as a question with its right answers. */
import { Refusal } from "../base/http/refusal.ts";
import { asObject, asString, type Json, parseJson } from "../core/json-value.ts";
import { defineTask, type Task, type TaskKind } from "../core/task.ts";
import { taskKinds, taskSchema } from "../core/task-schema.ts";

/** Reads the task of an item. `graded`: without right answers it is refused; else a question is enough. */
export function readTask(item: Json, { id, graded }: { id: string; graded: boolean }): Task {
  if (item["task"] !== undefined) {
    const parsed = taskSchema.safeParse({ version: 1, id, kind: "qa", ...asObject(item["task"]) });
    if (parsed.success) return parsed.data;
    const needed = graded ? "a question and answers" : "a question";
    throw new Refusal(400, `the task is not complete: it needs ${needed}`, { param: "task" });
  }
  if (graded && item["answers"] === undefined)
    throw new Refusal(400, "a task or right answers are needed", { param: "answers" });
  const answers = rightAnswers(item["answers"]);
  const kind = asString(item["kind"]) as TaskKind | undefined;
  if (kind !== undefined && !taskKinds.includes(kind))
    throw new Refusal(400, `there is no kind "${kind}"`, { param: "kind" });
  const question = asString(item["question"]) || (graded ? "?" : "");
  if (question === "") throw new Refusal(400, "a task or a question is needed", { param: "question" });
  return defineTask({ id, question, answers, ...(kind && { kind }) });
}

/** Names under which data sets of trainers keep the right answers: verl, Search-R1 (`target`), slime, and ours. */
const goldNames = [
  "ground_truth",
  "target",
  "answers",
  "answer",
  "label",
  "labels",
  "gold",
  "solution",
  "reward_model",
];

/** The one field of an object that holds the right answers. */
function goldIn(gold: Json): string | undefined {
  const named = Object.keys(gold).filter((name) => goldNames.includes(name));
  return named.length === 1 ? named[0] : undefined;
}

/** Right answers in any shape that trainers send; none where they are not known. A shape that is not understood is refused. */
function rightAnswers(gold: unknown): string[] {
  if (gold === undefined || gold === null) return [];
  if (typeof gold === "string") {
    const inside = gold.trimStart().startsWith("{") ? asObject(parseJson(gold)) : undefined; // columns are often JSON in a text
    return inside && goldIn(inside) !== undefined ? rightAnswers(inside) : [gold];
  }
  if (typeof gold === "number" || typeof gold === "boolean") return [String(gold)];
  if (Array.isArray(gold)) return gold.flatMap(rightAnswers);
  const named = goldIn(gold as Json);
  if (named !== undefined) return rightAnswers((gold as Json)[named]);
  const fields = Object.keys(gold);
  const wanted = "a text, a number, a list of them, or an object with one of";
  const given = fields.map((name) => `"${name}"`).join(", ") || "no field";
  throw new Refusal(400, `right answers are ${wanted} ${goldNames.join(", ")}; not an object with ${given}`, {
    code: "unknown_gold",
    param: "answers",
  });
}
