/**
 * Ways to choose one of several answers to a task: the answer most agree on, or (in judge-choice.ts) the one a judge
 * model prefers. Neither sees the gold answer.
 */
import type { Grader } from "../core/grader.ts";
import type { SystemResult } from "../core/system.ts";
import type { Task } from "../core/task.ts";
import { emptyUsage, type Usage } from "../core/usage.ts";

/** Chooses among several answers to one task: the index of one, or null where none has an answer. */
export type Choose = (
  task: Task,
  candidates: readonly Pick<SystemResult, "answer" | "check" | "run">[],
  options: { signal?: AbortSignal },
) => Promise<{ index: number | null; reason: string; usage: Usage }>;

/** One of several answers, with what is known about its run. */
export type Candidate = Parameters<Choose>[1][number];

/**
 * The answer given most often; of equals the one whose run broke fewer rules, then the first. The grader says which
 * answers mean the same by the rules of the task's kind; without one they are compared as words.
 */
export function byMajority(grader?: Grader): Choose {
  return async (task, candidates) => {
    const groups: number[][] = []; // [group][candidate]
    for (const [index, { answer }] of candidates.entries()) {
      if (answer === null) continue;
      let group: number[] | undefined;
      for (const other of groups) {
        if (await sameAnswer(grader, task, candidates[other[0]!]!.answer!, answer)) {
          group = other;
          break;
        }
      }
      if (group) group.push(index);
      else groups.push([index]);
    }
    const cleanest = (group: number[]) => group.toSorted((a, b) => faults(candidates[a]!) - faults(candidates[b]!))[0]!;
    const [best] = groups.toSorted(
      (a, b) => b.length - a.length || faults(candidates[cleanest(a)]!) - faults(candidates[cleanest(b)]!),
    );
    if (!best) return { index: null, reason: "no candidate has an answer", usage: emptyUsage() };
    const reason = `${best.length} of ${candidates.length} gave this answer`;
    return { index: cleanest(best), reason, usage: emptyUsage() };
  };
}

/**
 * Whether two answers to the same task mean the same. Open questions are compared word for word: asking a judge about
 * every pair of samples would cost more than the samples.
 */
export async function sameAnswer(
  grader: Grader | undefined,
  task: Task,
  first: string,
  second: string,
): Promise<boolean> {
  if (first === second) return true;
  if (!grader) return words(first) === words(second);
  if (task.kind === "code") return false;
  const kind = task.kind === "judge" ? "qa" : task.kind;
  return (await grader({ ...task, kind, answers: [first] }, second)).correct === true;
}

/** Answers that differ only in case, punctuation, articles or spaces are the same words. */
function words(answer: string): string {
  return answer
    .toLowerCase()
    .replaceAll(/\b(?:a|an|the)\b/g, " ")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function faults({ run }: Candidate): number {
  return run?.kind === "trajectory" ? run.value.violations.length : 0;
}
