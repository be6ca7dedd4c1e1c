/** From documents or traces to a compared model: look, estimate, then one command after the other. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { claimFolder } from "../../base/files/claim-folder.ts";
import { makeFolder } from "../../base/files/make-folder.ts";
import { readManifest } from "../../base/files/manifest.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { CallUsage, Price } from "../../core/model.ts";
import { taskSchema } from "../../core/task-schema.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { addUsage, callCost, emptyUsage } from "../../core/usage.ts";
import { splitKey } from "../../dataset/split.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { duration } from "../output.ts";
import { studentParameters } from "./choose.ts";
import { type Estimate, estimateUp, trainingSpeed } from "./estimate.ts";
import type { UpInput } from "./look-at-input.ts";
import {
  bareSteps,
  isBare,
  planUp,
  practises,
  type Student,
  toolFlags,
  typed,
  type UpChoices,
  type UpStep,
  words,
} from "./up-plan.ts";

/** What the remaining work will cost; what is done already counts as measured. */
export async function estimateFor(input: UpInput, choices: UpChoices, price: Price | undefined): Promise<Estimate> {
  const { student, folder, tasks } = choices;
  const done = input.kind === "documents" ? await readAllJsonl(join(folder, "runs.jsonl"), teamRunSchema) : [];
  const usage = done.map((run) => run.usage).reduce(addUsage, emptyUsage());
  const given = tasks === undefined ? undefined : (await loadTasks(tasks)).length;
  const written = await readAllJsonl(join(folder, "tasks.jsonl"), taskSchema);
  const bare = isBare(student);
  return estimateUp(input, {
    questions: given ?? (done.length > 0 ? written.length : choices.questions),
    writing: tasks === undefined && done.length === 0,
    judging: choices.judge.length > 0,
    price,
    measured: { runs: done.length, usage },
    student: {
      parameters: await studentParameters(student),
      bare,
      epochs: 3,
      steps: choices.steps ?? (bare ? bareSteps(student, choices.questions) : undefined),
      batchTokens: bare ? 2048 : 4096,
    },
    speed: student.kind === "server" ? undefined : await trainingSpeed(),
  });
}

/** Dollars and tokens spent on this work so far. */
export async function spentSoFar(folder: string, price: Price | undefined): Promise<{ usd: number; tokens: number }> {
  const calls = await readAllJsonl<CallUsage>(join(folder, "spending.jsonl"));
  return {
    usd: calls.reduce((sum, call) => sum + callCost(call, price), 0),
    tokens: calls.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0),
  };
}

/**
 * Where the work on an input goes: `up-` and its name in the workspace, with more of its path where other input of the same
 * name was worked on there.
 */
export async function workFolder(root: string, { name, path }: UpInput): Promise<string> {
  const folder = join(root, `up-${name}`);
  const before = await readManifest(folder).catch(() => undefined);
  if (!before || before.configuration["path"] === resolve(path)) return folder;
  return `${folder}-${fingerprint(resolve(path)).slice(0, 6)}`;
}

/** Other students that were measured in this folder, by name. */
export async function otherStudents(folder: string, student: Pick<Student, "name">): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((one) => one.isDirectory() && one.name !== student.name)
    .map(({ name }) => name)
    .sort()
    .flatMap((name) => [
      ...(existsSync(join(folder, name, "sft", "model", "config.json")) ? [name] : []),
      ...(existsSync(join(folder, name, "rl", "model", "config.json")) ? [`${name}-practised`] : []),
    ]);
}

export interface UpResult {
  /** Of the step that failed; 0 where none did. */
  code: number;
  steps: UpStep[];
  /** What the report compares on: questions that training never saw, or those it was trained on. */
  measuredOn: "held-out questions" | "questions it was trained on";
}

export interface RunUpOptions {
  /** Runs one command line and gives its exit code. */
  run(args: readonly string[]): Promise<number>;
  /** Told before each step; `done` where there is nothing to do. */
  onStep(step: UpStep, state: { number: number; done: boolean; command: string }): void;
  /** Told where and how the work can be continued when it stops. */
  note(text: string): void;
  /** Where the work stops: tokens of all its calls, those of before included. */
  maxTokens?: number;
  /** How the same work is started again, for messages. */
  again: string;
  signal?: AbortSignal;
}

/** Runs all steps, or those that are left. */
export async function runUp(input: UpInput, choices: UpChoices, options: RunUpOptions): Promise<UpResult> {
  const { folder } = choices;
  const claim = { kind: "up" as const, configuration: { input: input.kind, path: resolve(input.path) } };
  const claimed = await claimFolder(folder, claim, {
    hint: { option: "out", value: "<folder>", purpose: "for other work" },
  });
  try {
    // Tasks are counted once they are there: the share that is set aside is then exact.
    const before = planUp(input, choices);
    const first = before.findIndex(({ name }) => name === "split");
    const written = await runCommands(folder, before.slice(0, first), options);
    if (written !== 0) return { code: written, steps: before, measuredOn: "held-out questions" };
    const tasks = await loadTasks(before[first]!.inputs[0]!);
    const aside = Math.round(choices.heldOut * new Set(tasks.map(splitKey)).size);
    const counted = { ...choices, heldOut: aside || choices.heldOut };
    const [split] = planUp(input, counted).slice(first);
    const failed = await runCommands(folder, [split!], options, first);
    if (failed !== 0) return { code: failed, steps: before, measuredOn: "held-out questions" };
    const few = (await readAllJsonl(split!.outputs![0]!, taskSchema)).length === 0;
    if (few)
      options.note(
        "Too few questions to set some aside: the numbers are on the questions that the model is trained on.",
      );
    const steps = planUp(input, { ...counted, measureOnTraining: few });
    // What belongs to one student alone is remembered in its own folder: another student makes none of it stale.
    const own = join(folder, choices.student.name);
    await makeFolder(own);
    const code = await runCommands(own, steps.slice(first + 1), options, first + 1);
    if (code === 0) await claimed.report({ state: "done", done: steps.length, total: steps.length });
    return { code, steps, measuredOn: few ? "questions it was trained on" : "held-out questions" };
  } finally {
    await claimed.release();
  }
}

/** Runs the commands that are not done yet; gives the exit code of the one that failed, 0 where none did. */
async function runCommands(
  folder: string,
  plan: readonly UpStep[],
  { run, onStep, note, again, signal, maxTokens }: RunUpOptions,
  first = 0,
): Promise<number> {
  let code = 0;
  // Work of other inputs is deleted by the command that claims its folder.
  const wordsOf = ({ args, claims }: UpStep, stale: boolean) => [
    ...args,
    ...(stale && claims ? ["--resume", "fresh"] : []),
    ...(maxTokens !== undefined && args.some((word) => word.startsWith("spending.ledger="))
      ? ["--set", `spending.maxTokens=${maxTokens}`]
      : []),
  ];
  const steps = plan.map((step) => ({
    ...step,
    identity: step.args,
    async run(stale: boolean) {
      const stopped = (how: string) =>
        note(`${how} in step "${step.name}". What is done is kept; continue with: ${again}`);
      const before = process.cpuUsage();
      code = await run(wordsOf(step, stale)).catch((error: unknown) => {
        stopped("Stopped");
        throw error;
      });
      const { user, system } = process.cpuUsage(before);
      if (code === 0) return note(`   ${duration((user + system) / 1000)} of processor time`);
      stopped("Failed");
      throw new CommandFailed(step.name);
    },
  }));
  try {
    await runSteps(folder, steps, {
      onStart: (step, { number, done, stale }) =>
        onStep(step, { number: first + number, done, command: typed(wordsOf(step, stale)) }),
      signal,
    });
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
  }
  return code;
}

/** A command ended with an exit code that is not 0, and has said why. */
class CommandFailed extends Error {}

/** What can be typed now, as it stands: the first of the questions that training never saw is asked. */
export async function nextLines(input: UpInput, choices: UpChoices, steps: readonly UpStep[]): Promise<string[]> {
  const { folder, tools, student } = choices;
  if (student.kind === "server" && !student.weightsHere)
    return [
      `next: serve the base model with the adapter in ${join(folder, student.name, "sft", "adapter")} (vLLM, SGLang), then coa eval run with --base-url`,
    ];
  const model = join(folder, student.name, practises(input, choices) ? "rl" : "sft", "model");
  const given = toolFlags(input, join(folder, "runs.jsonl"), { tools });
  const [test = ""] = steps.find(({ name }) => name === "split")?.outputs ?? [];
  const [task] = await readAllJsonl(test, taskSchema);
  return [
    `next: ${typed(words`ask ${task?.question ?? "…"} --model ${model} ${given}`)}`,
    `next: ${typed(words`serve --model ${model} ${given}`)}`,
  ];
}
