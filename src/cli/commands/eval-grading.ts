/** What commands grade with, put together from settings: the rules, a judge with its prompt, a sandbox where there is code. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { UsageError } from "../../core/errors.ts";
import type { Grader } from "../../core/grader.ts";
import type { Sandbox } from "../../core/sandbox.ts";
import type { Task } from "../../core/task.ts";
import { countRightness } from "../../core/task.ts";
import type { AnswerParts } from "../../graders/grade-qa.ts";
import { scorerTitle, taskGrader } from "../../graders/grade-task.ts";
import { judgeGrader } from "../../graders/judges/judge-grader.ts";
import { type JudgePrompt, judgeNamed, judges, ownPrompt, promptHash } from "../../graders/judges/judges.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import type { Measure } from "../../report/figures.ts";
import { findBenchmark } from "../../tasks/benchmarks/benchmarks.ts";
import { bubblewrapProblem } from "../../tools/sandbox/bubblewrap.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import type { Session } from "../session.ts";
import type { Section, Settings } from "../settings/index.ts";

/** A sandbox in which one program can't touch the next: a process of its own each, where the machine can do that. */
function gradingSandbox(): Sandbox {
  const free = !process.env["COA_SANDBOX"] && !process.env["COA_NSJAIL"];
  return chooseSandbox(free && bubblewrapProblem() === undefined ? { kind: "bubblewrap", warm: 2 } : {});
}

/** The grader for these tasks, and the tasks as they are graded. With `needed`, tasks that need a judge are refused where there is none. */
export async function openGrader(
  { judge: judging, grader: how }: Settings<"judge" | "grader">,
  session: Session,
  given: readonly Task[],
  options: { needed?: string; parts?: AnswerParts } = {},
) {
  const { scoring, judgeAll } = how;
  const parts = how.parts ?? options.parts ?? "first";
  const tasks = judgeAll ? given.map((task) => ({ ...task, kind: "judge" as const })) : [...given];
  const judged = tasks.filter((task) => task.kind === "judge").length;
  const named = judging.model !== undefined || judging.baseUrl !== undefined;
  const promptOf = await choosePrompt(judging.prompt);
  if (judged > 0 && !named && (options.needed || judgeAll || judging.prompt))
    throw new UsageError(
      `${judged} of ${tasks.length} tasks are decided by a judge${options.needed ? `, and ${options.needed}` : ""}: name one with --judge-model (and --judge-url)`,
    );
  const { baseUrl: baseURL, model: name } = judging;
  const model = judged > 0 && named ? session.closeAtEnd(openaiCompatible({ baseURL, model: name })) : undefined;
  const byPrompt = new Map<JudgePrompt, Grader>();
  const judge: Grader | undefined =
    model &&
    ((task, answer, how) => {
      const prompt = promptOf(task);
      if (!byPrompt.has(prompt)) byPrompt.set(prompt, judgeGrader({ model, prompt }));
      return byPrompt.get(prompt)!(task, answer, how);
    });
  const sandbox = tasks.some((task) => task.kind === "code") ? session.closeAtEnd(gradingSandbox()) : undefined;
  const code = how.allTests ? { tests: "all" as const } : undefined;
  const prompts = model ? [...new Set(tasks.filter(({ kind }) => kind === "judge").map(promptOf))] : [];
  const measure: Measure = {
    ...rightOf(tasks),
    scoring,
    scorers: [...new Set(tasks.map((task) => scorerTitle(task, { scoring, parts })))].sort(),
    judges: prompts.map((prompt) => ({ name: prompt.name, promptHash: promptHash(prompt), model: model!.name })),
  };
  const unjudged = `${judged} tasks need a judge (--judge-model); without one only word-for-word matches count as right`;
  /** `note`: what can't be graded with these flags; `measure`: the rules and judges in use, for the summary. */
  const grader = taskGrader({ judge, sandbox, scoring, parts, code });
  return { grader, tasks, note: judged > 0 && !model ? unjudged : undefined, measure };
}

/** How answers are known to be right, where a file of tasks does not say so for all. */
function rightOf(tasks: readonly Task[]): Pick<Measure, "right"> {
  const right = countRightness(tasks);
  return Object.keys(right).every((by) => by === "task file") ? {} : { right };
}

/** The prompt of a task's judge: the one that is set, by name or from a file, else its benchmark's, else ours. */
async function choosePrompt(set: Section<"judge">["prompt"]): Promise<(task: Task) => JudgePrompt> {
  if (set === undefined) return (task) => judges[findBenchmark(task.source ?? "")?.judge ?? "own"];
  const prompt = existsSync(set) ? ownPrompt(basename(set), await readFile(set, "utf8")) : judgeNamed(set);
  return () => prompt;
}
