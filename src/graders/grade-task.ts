/** All graders by the task's kind. RL rewards, data filters and evaluation call this, with the same options. */
import { atBoundary } from "../core/errors.ts";
import type { Grade, Grader } from "../core/grader.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { Task, TaskKind } from "../core/task.ts";
import { type CodeGradeOptions, defaultTimeLimitMs, gradeCode } from "./code/grade-code.ts";
import { gradeGaia } from "./grade-gaia.ts";
import { type AnswerParts, gradeQa } from "./grade-qa.ts";
import { gradeMath } from "./math/grade-math.ts";
import { scorerOf } from "./scorers.ts";

export interface GradeTaskOptions {
  /** Decides tasks of kind `judge`; without it they can't be decided unless the answer matches word for word. */
  judge?: Grader;
  /** Runs programs; tasks of kind `code` need it. */
  sandbox?: Sandbox;
  /** The benchmark's own rule (the default), or ours where that is stricter. */
  scoring?: "official" | "strict";
  /** How an answer with several parts (`a | b`) is read. Default: the first part counts. @internal */
  parts?: AnswerParts;
  /** @internal */
  code?: Omit<CodeGradeOptions, "sandbox" | "signal">;
  signal?: AbortSignal;
}

type GradeKind = (task: Task, answer: string | null, options: GradeTaskOptions) => Grade | Promise<Grade>;

const byKind: Record<TaskKind, GradeKind> = {
  qa: (task, answer, { scoring, parts }) =>
    gradeQa(task.answers, answer, {
      scoring,
      parts,
      yesNo: scorerOf(task) === "hotpotqa",
      signsPart: scorerOf(task) === "triviaqa",
    }),
  math: (task, answer) => gradeMath(task.answers, answer),
  gaia: (task, answer, { scoring }) => gradeGaia(task.answers, answer, scoring),
  code: gradeProgram,
  judge: gradeByJudge,
};

/** Grades an answer by the rules of its task. Throws only where the grader itself is broken, never for what an answer says. */
export async function gradeTask(task: Task, answer: string | null, options: GradeTaskOptions = {}): Promise<Grade> {
  options.signal?.throwIfAborted();
  if (task.kind !== "code" && task.answers.length === 0) return undecided(`task ${task.id} has no gold answer`);
  const { correct, score, reason, scorer, ...rest } = await byKind[task.kind](task, answer, options);
  return { correct, score, reason, scorer: scorer ?? scorerTitle(task, options), ...rest };
}

/** A grader with its judge and sandbox built in. */
export function taskGrader(options: Omit<GradeTaskOptions, "signal"> = {}): Grader {
  return (task, answer, { signal } = {}) => gradeTask(task, answer, { ...options, signal });
}

/** Which rule decides a task under these options, as records and summaries name it. */
export function scorerTitle(task: Task, options: GradeTaskOptions = {}): string {
  const { scoring = "official", parts = "first" } = options;
  const name = scorerOf(task);
  if (task.kind === "qa") return `${name} ${scoring}, ${parts === "whole" ? "whole answer" : `${parts} part`}`;
  if (task.kind === "judge" || task.kind === "math") return name;
  if (task.kind === "code" && (scoring === "strict" || name === "tests")) return "tests";
  return `${name} ${scoring}`;
}

async function gradeProgram(task: Task, answer: string | null, options: GradeTaskOptions): Promise<Grade> {
  const { sandbox, signal, scoring = "official" } = options;
  if (!task.tests) return undecided(`task ${task.id} has no tests`);
  if (!sandbox) return undecided("grading code needs a sandbox, and none was given");
  const name = scorerOf(task);
  const official = scoring === "official" && name !== "tests";
  const limit = task.tests.timeLimitMs;
  // A contest's limit is set for C++; Python programs would fail it because of the language.
  const fair = official && name === "codecontests" && limit !== undefined && limit < defaultTimeLimitMs;
  const tests = fair ? { ...task.tests, timeLimitMs: defaultTimeLimitMs } : task.tests;
  const grade = await atBoundary("grader", `grading task ${task.id}`, () =>
    gradeCode(tests, answer, {
      scoring: official ? "official" : "strict",
      ...options.code,
      sandbox,
      signal,
    }),
  );
  const note = fair
    ? ` (${defaultTimeLimitMs / 1000} s per test for Python; the problem's limit is ${limit / 1000} s)`
    : "";
  return { ...grade, reason: `${grade.reason}${note}` };
}

async function gradeByJudge(task: Task, answer: string | null, { judge, signal }: GradeTaskOptions): Promise<Grade> {
  if (judge) return atBoundary("grader", `judging task ${task.id}`, () => judge(task, answer, { signal }));
  const exact = gradeQa(task.answers, answer, { scoring: "strict", parts: "whole" });
  if (exact.correct || answer === null || answer.trim() === "") return exact;
  return undecided("no judge model was given, and the answer matches no gold word for word");
}

function undecided(reason: string): Grade {
  return { correct: null, score: 0, reason };
}
