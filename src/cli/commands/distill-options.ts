/** Reads the flags of `coa distill run` into a configuration and plugins. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { DistillPlugins } from "../../distill/distill-config.ts";
import { readTasks } from "../../distill/judge-batch.ts";
import { modelCheck } from "../../distill/model-check.ts";
import { rewriteThoughts } from "../../distill/rewrite-thoughts.ts";
import type { Profile } from "../../language/profile.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { type GradingValues, openGrader } from "./eval-grading.ts";

/** The questions of evaluation sets: any JSONL whose lines have a `question`. */
export async function readQuestions(files: readonly string[] = []): Promise<string[]> {
  const questions: string[] = [];
  for (const file of files) {
    if (!existsSync(file)) throw new UsageError(`there is no file ${file}`);
    for await (const { question } of readJsonl(file, z.looseObject({ question: z.string() }))) questions.push(question);
  }
  return questions;
}

export interface ModelFlags extends Pick<GradingValues, "judge" | "judge-prompt" | "judge-model" | "judge-url"> {
  check?: string;
  rewrite?: string;
  "base-url"?: string;
  tokenizer?: string;
}

/**
 * Plugins as functions, where a model, a sandbox or a tokenizer takes part; undefined where the rules are enough, so that
 * they can run in worker threads.
 */
export async function choosePlugins(
  flags: ModelFlags,
  profile: Profile,
  tasksFiles: readonly string[],
): Promise<{ plugins?: DistillPlugins; close(): Promise<void> }> {
  const clients: { close(): Promise<void> }[] = [];
  const open = (model: string) => {
    const client = openaiCompatible({ baseURL: flags["base-url"], model });
    clients.push(client);
    return client;
  };
  const tasks = await readTasks(tasksFiles);
  const judged = flags["judge-model"] ?? flags["judge-url"] ?? flags.judge ?? flags["judge-prompt"];
  const hasCode = tasks.some((task) => task.kind === "code");
  const needed = hasCode || judged || flags.check || flags.rewrite || flags.tokenizer;
  const close = async () => {
    await Promise.all(clients.map((client) => client.close()));
  };
  if (!needed) return { close };
  // A judge on the server of the other models needs no address of its own.
  const server = judged === undefined ? undefined : (flags["judge-url"] ?? flags["base-url"]);
  const graders = await openGrader({ ...flags, "judge-url": server }, tasks);
  clients.push(graders);
  const tokenizer = flags.tokenizer === undefined ? undefined : await loadTokenizer(flags.tokenizer);
  const editor = flags.rewrite === undefined ? undefined : open(flags.rewrite);
  const plugins: DistillPlugins = {
    grade: graders.grader,
    ...(flags.check !== undefined && { check: modelCheck(open(flags.check)) }),
    ...(tokenizer && { countTokens: (text: string) => tokenizer.encodeWithSpecials(text).length }),
    ...(editor && {
      rewrite: async (trajectory, signal) =>
        (await rewriteThoughts(trajectory, { model: editor, profile, signal })).trajectory,
    }),
  };
  return { plugins, close };
}
