/** What commands grade with, put together from flags: the rules, a judge with its prompt, a sandbox where there is code. */
import { readFile } from "node:fs/promises";
import { UsageError } from "../../core/errors.ts";
import type { Grader } from "../../core/grader.ts";
import type { Measure } from "../../core/measure.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { Task } from "../../core/task.ts";
import { countRightness } from "../../core/task.ts";
import { type AnswerParts, answerParts } from "../../graders/grade-qa.ts";
import { scorerTitle, taskGrader } from "../../graders/grade-task.ts";
import { judgeGrader } from "../../graders/judges/judge-grader.ts";
import { type JudgePrompt, judgeNamed, judges, ownPrompt, promptHash } from "../../graders/judges/judges.ts";
import { scorings } from "../../graders/scorers.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { findBenchmark } from "../../tasks/benchmarks/benchmarks.ts";
import { bubblewrapProblem } from "../../tools/sandbox/bubblewrap.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import type { Options } from "../command.ts";
import { choiceOf } from "../flag-values.ts";

/** Flags of the judge, spelt alike on every command that has one. */
export const judgeFlags = {
  judge: { type: "string", valueName: "name", describe: `Whose judge prompt: ${Object.keys(judges).join(", ")} (default: the benchmark's)` },
  "judge-prompt": { type: "string", valueName: "file", describe: "A judge prompt of your own, with {question}, {gold} and {answer} in it" },
  "judge-model": { type: "string", valueName: "name", describe: "Model that judges answers to open questions" },
  "judge-url": { type: "string", valueName: "url", describe: "Its OpenAI-compatible server (default OPENAI_BASE_URL)" },
} as const satisfies Options; // biome-ignore format: one flag a line

/** Flags of graders. */
export const gradingFlags = {
  scoring: { type: "string", default: "official", valueName: "name", describe: "official (the benchmark's own rule) or strict (ours)" },
  grader: { type: "string", valueName: "judge", describe: "judge: let the judge decide every task, whatever its own rule" },
  parts: { type: "string", valueName: "name", describe: "Of an answer `a | b`: first (default), every or whole" },
  ...judgeFlags,
  "all-tests": { type: "boolean", default: false, describe: "Run every test of a program, also after one failed" },
} as const satisfies Options; // biome-ignore format: one flag a line

/** Values of those flags; a command that has only some of them leaves the others out. */
export interface GradingValues {
  scoring?: string;
  grader?: string;
  parts?: string;
  judge?: string;
  "judge-prompt"?: string;
  "judge-model"?: string;
  "judge-url"?: string;
  "all-tests"?: boolean;
}

/** A sandbox in which one program can't touch the next: a process of its own each, where the machine can do that. */
function gradingSandbox(): Sandbox {
  const free = !process.env["COA_SANDBOX"] && !process.env["COA_SANDBOX_URL"] && !process.env["COA_NSJAIL"];
  return chooseSandbox(free && bubblewrapProblem() === undefined ? { kind: "bubblewrap", warm: 2 } : {});
}

export interface OpenGrader {
  grader: Grader;
  /** The tasks as they are graded: of kind `judge` throughout where that was asked for. */
  tasks: Task[];
  /** What can't be graded with these flags, in a sentence; undefined when everything can. */
  note?: string;
  /** The rules and judges in use, for the summary. */
  measure: Measure;
  close(): Promise<void>;
}

/** The grader for these tasks. With `needed`, tasks that need a judge are refused where there is none. */
export async function openGrader(
  values: GradingValues,
  given: readonly Task[],
  options: { needed?: string; parts?: AnswerParts } = {},
): Promise<OpenGrader> {
  const scoring = choiceOf(values.scoring ?? "official", "scoring", scorings);
  const parts = choiceOf(values.parts ?? options.parts ?? "first", "parts", answerParts);
  if (values.grader !== undefined) choiceOf(values.grader, "grader", ["judge"]);
  const tasks = values.grader === "judge" ? given.map((task) => ({ ...task, kind: "judge" as const })) : [...given];
  const judged = tasks.filter((task) => task.kind === "judge").length;
  const named = values["judge-model"] !== undefined || values["judge-url"] !== undefined;
  const promptOf = await choosePrompt(values);
  if (judged > 0 && !named && (options.needed || values.grader || values.judge || values["judge-prompt"]))
    throw new UsageError(
      `${judged} of ${tasks.length} tasks are decided by a judge${options.needed ? `, and ${options.needed}` : ""}: name one with --judge-model (and --judge-url)`,
    );
  const model =
    judged > 0 && named ? openaiCompatible({ baseURL: values["judge-url"], model: values["judge-model"] }) : undefined;
  const byPrompt = new Map<JudgePrompt, Grader>();
  const judge: Grader | undefined =
    model &&
    ((task, answer, how) => {
      const prompt = promptOf(task);
      if (!byPrompt.has(prompt)) byPrompt.set(prompt, judgeGrader(model, { prompt }));
      return byPrompt.get(prompt)!(task, answer, how);
    });
  const sandbox = tasks.some((task) => task.kind === "code") ? gradingSandbox() : undefined;
  const code = values["all-tests"] ? { tests: "all" as const } : undefined;
  const prompts = model ? [...new Set(tasks.filter(({ kind }) => kind === "judge").map(promptOf))] : [];
  return {
    grader: taskGrader({ judge, sandbox, scoring, parts, code }),
    tasks,
    ...(judged > 0 && !model
      ? { note: `${judged} tasks need a judge (--judge-model); without one only word-for-word matches count as right` }
      : {}),
    measure: {
      ...rightOf(tasks),
      scoring,
      scorers: [...new Set(tasks.map((task) => scorerTitle(task, { scoring, parts })))].sort(),
      judges: prompts.map((prompt) => ({ name: prompt.name, promptHash: promptHash(prompt), model: model!.name })),
    },
    async close() {
      await sandbox?.close();
      await model?.close();
    },
  };
}

/** How answers are known to be right, where a file of tasks does not say so for all. */
function rightOf(tasks: readonly Task[]): Pick<Measure, "right"> {
  const right = countRightness(tasks);
  return Object.keys(right).every((by) => by === "task file") ? {} : { right };
}

/** Whose words the judge gets for a task: those asked for, else those of the task's benchmark, else ours. */
async function choosePrompt(values: GradingValues): Promise<(task: Task) => JudgePrompt> {
  const file = values["judge-prompt"];
  if (file !== undefined) {
    if (values.judge !== undefined) throw new UsageError("give --judge or --judge-prompt, not both");
    const text = await readFile(file, "utf8").catch(() => {
      throw new UsageError(`there is no judge prompt ${file}`);
    });
    const prompt = ownPrompt(file.split(/[\\/]/).at(-1)!, text);
    return () => prompt;
  }
  if (values.judge !== undefined) {
    const prompt = judgeNamed(values.judge);
    return () => prompt;
  }
  return (task) => judges[findBenchmark(task.source ?? "")?.judge ?? "own"];
}
