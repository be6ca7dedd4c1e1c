/** One door to all graders: the task's kind names the rules. RL rewards, data filters and evaluation call this. */
import { atBoundary } from "../core/errors.ts";
import type { Grade, Grader } from "../core/grader.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { Task } from "../core/task.ts";
import { type CodeGradeOptions, gradeCode } from "./grade-code.ts";
import { gradeGaia } from "./grade-gaia.ts";
import { gradeQa } from "./grade-qa.ts";
import { gradeMath } from "./math/grade-math.ts";

export interface GradeTaskOptions {
  /** Decides tasks of kind `judge`; without it they can't be decided unless the answer matches word for word. */
  judge?: Grader;
  /** Runs programs; tasks of kind `code` need it. */
  sandbox?: Sandbox;
  code?: Omit<CodeGradeOptions, "sandbox" | "signal">;
  signal?: AbortSignal;
}

/** Grades an answer by the rules of its task. Throws only where the grader itself is broken, never for what an answer says. */
export async function gradeTask(task: Task, answer: string | null, options: GradeTaskOptions = {}): Promise<Grade> {
  const { judge, sandbox, signal } = options;
  signal?.throwIfAborted();
  if (task.kind === "code") {
    if (!task.tests) return undecided(`task ${task.id} has no tests`);
    if (!sandbox) return undecided("grading code needs a sandbox, and none was given");
    const tests = task.tests;
    return atBoundary("grader", `grading task ${task.id}`, () =>
      gradeCode(tests, answer, { ...options.code, sandbox, signal }),
    );
  }
  if (task.answers.length === 0) return undecided(`task ${task.id} has no gold answer`);
  if (task.kind === "math") return gradeMath(task.answers, answer);
  if (task.kind === "gaia") return gradeGaia(task.answers, answer);
  if (task.kind === "qa") return gradeQa(task.answers, answer);
  if (judge) return atBoundary("grader", `judging task ${task.id}`, () => judge(task, answer, { signal }));
  const exact = gradeQa(task.answers, answer);
  if (exact.correct || answer === null || answer.trim() === "") return exact;
  return undecided("no judge model was given, and the answer matches no gold word for word");
}

/** A grader with its judge and sandbox built in. */
export function taskGrader(options: Omit<GradeTaskOptions, "signal"> = {}): Grader {
  return (task, answer, { signal } = {}) => gradeTask(task, answer, { ...options, signal });
}

function undecided(reason: string): Grade {
  return { correct: null, score: 0, reason };
}
