/** One answer from many samples: the one that most agree on, or the one that a model picks. */
import { isAbort } from "../core/errors.ts";
import type { Grader } from "../core/grader.ts";
import type { ChatModel } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";

/**
 * Whether two answers to the same task mean the same, by the grader's rules for its kind. Open questions are compared
 * word for word: asking a judge about every pair of samples would cost more than the samples.
 */
export async function sameAnswer(grader: Grader, task: Task, first: string, second: string): Promise<boolean> {
  if (first === second) return true;
  if (task.kind === "code") return false;
  const kind = task.kind === "judge" ? "qa" : task.kind;
  return (await grader({ ...task, kind, answers: [first] }, second)).correct === true;
}

/** The record of the largest group of equal answers; the earliest of them, and of equal groups the one seen first. */
export async function majorityRecord(
  grader: Grader,
  task: Task,
  records: readonly EvaluationRecord[],
): Promise<EvaluationRecord | undefined> {
  const groups: { first: EvaluationRecord; count: number }[] = [];
  for (const record of records.toSorted((a, b) => a.sample - b.sample)) {
    if (record.answer === null) continue;
    let found: (typeof groups)[number] | undefined;
    for (const group of groups) {
      if (await sameAnswer(grader, task, group.first.answer!, record.answer)) {
        found = group;
        break;
      }
    }
    if (found) found.count++;
    else groups.push({ first: record, count: 1 });
  }
  return groups.reduce<(typeof groups)[number] | undefined>(
    (best, group) => (!best || group.count > best.count ? group : best),
    undefined,
  )?.first;
}

/** Success over all tasks when each gives its majority answer. */
export async function majoritySuccess(
  tasks: readonly Task[],
  records: readonly EvaluationRecord[],
  grader: Grader,
): Promise<number> {
  return chosenSuccess(tasks, records, (task, ofTask) => majorityRecord(grader, task, ofTask));
}

/** Picks one of several records of a task. */
export type Choose = (task: Task, records: readonly EvaluationRecord[]) => Promise<EvaluationRecord | undefined>;

/** Success over all tasks when each gives the answer that was chosen for it: best of N. */
export async function chosenSuccess(
  tasks: readonly Task[],
  records: readonly EvaluationRecord[],
  choose: Choose,
): Promise<number> {
  if (tasks.length === 0) return 0;
  const byTask = Map.groupBy(records, (record) => record.taskId);
  let right = 0;
  for (const task of tasks) {
    const chosen = await choose(task, byTask.get(task.id) ?? []);
    if (chosen?.grade.correct === true) right++;
  }
  return right / tasks.length;
}

/** A chat model as chooser, as the paper's best-of-3: it sees the question and the candidate answers, not the gold. */
export function modelChooser(model: ChatModel, options: { signal?: AbortSignal } = {}): Choose {
  return async (task, records) => {
    const candidates = records.filter((record) => record.answer !== null);
    if (candidates.length < 2) return candidates[0];
    const lines = candidates.map((record, i) => `${i + 1}: ${JSON.stringify(record.answer)}`).join("\n");
    const content = `Several independent attempts answered one question. Pick the answer that is most likely right.\n\nquestion: ${JSON.stringify(task.question)}\n${lines}\n\nReply with one JSON object and nothing else: {"choice": <number>}`;
    try {
      const reply = await model.chat({
        messages: [{ role: "user", content }],
        json: true,
        temperature: 0,
        maxTokens: 256,
        signal: options.signal,
      });
      const choice = Number(/"choice"\s*:\s*"?(\d+)/.exec(reply.text)?.[1]);
      return candidates[choice - 1] ?? candidates[0];
    } catch (error) {
      if (isAbort(error)) throw error;
      // A chooser that fails leaves the first answer standing: the run had one.
      return candidates[0];
    }
  };
}
