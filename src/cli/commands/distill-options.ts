/** Reads the settings of `coa distill run` into plugins. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { DistillPlugins } from "../../distill/distill-config.ts";
import { readTasks } from "../../distill/judge-batch.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import type { Session } from "../session.ts";
import type { Settings } from "../settings/index.ts";
import { openGrader } from "./eval-grading.ts";

/** The questions of evaluation sets: any JSONL whose lines have a `question`. */
export async function readQuestions(files: readonly string[] = []): Promise<string[]> {
  const questions: string[] = [];
  for (const file of files) {
    if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
    for await (const { question } of readJsonl(file, z.looseObject({ question: z.string() }))) questions.push(question);
  }
  return questions;
}

/**
 * Plugins as functions, where a model, a sandbox or a tokenizer takes part; undefined where the rules are enough, so that
 * they can run in worker threads.
 */
export async function choosePlugins(
  { distill, judge, grader }: Settings<"distill" | "judge" | "grader">,
  session: Session,
  { tokenizerFolder, tasksFiles }: { tokenizerFolder?: string; tasksFiles: readonly string[] },
): Promise<DistillPlugins | undefined> {
  const tasks = await readTasks(tasksFiles);
  const judged = judge.model ?? judge.baseUrl ?? judge.prompt;
  const hasCode = tasks.some((task) => task.kind === "code");
  if (!(hasCode || judged || tokenizerFolder)) return undefined;
  // A judge on the server of the other models needs no address of its own.
  const baseUrl = judged === undefined ? undefined : (judge.baseUrl ?? distill.baseUrl);
  const { grader: grade } = await openGrader({ judge: { ...judge, baseUrl }, grader }, session, tasks);
  const tokenizer = tokenizerFolder === undefined ? undefined : await loadTokenizer(tokenizerFolder);
  return {
    grade,
    ...(tokenizer && { countTokens: (text: string) => tokenizer.encodeWithSpecials(text).length }),
  };
}
