/** From documents or traces to a compared model: look, estimate, then one command after the other. */
import { join } from "node:path";
import { claimFolder } from "../../base/files/claim-folder.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { runSteps } from "../../base/files/resumable-steps.ts";
import type { CallUsage, Price } from "../../core/model.ts";
import { taskSchema } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { addUsage, callCost, emptyUsage } from "../../core/usage.ts";
import { studentParameters } from "./choose.ts";
import { type Estimate, estimateUp } from "./estimate.ts";
import type { UpInput } from "./look-at-input.ts";
import { trainingSpeed } from "./training-speed.ts";
import { planUp, scratchSteps, toolFlags, typed, type UpChoices, type UpStep, words } from "./up-plan.ts";

/** What the remaining work will cost; what is done already counts as measured. */
export async function estimateFor(input: UpInput, choices: UpChoices, price: Price | undefined): Promise<Estimate> {
  const { student, folder, tasks } = choices;
  const done = input.kind === "documents" ? await readAllJsonl(join(folder, "runs.jsonl"), teamRunSchema) : [];
  const usage = done.map((run) => run.usage).reduce(addUsage, emptyUsage());
  const given = tasks === undefined ? undefined : (await readAllJsonl(tasks, taskSchema)).length;
  const scratch = student.kind === "scratch";
  return estimateUp(input, {
    questions: given ?? choices.questions,
    writing: tasks === undefined && done.length === 0,
    judging: choices.judge.length > 0,
    price,
    measured: { runs: done.length, usage },
    student: {
      parameters: await studentParameters(student),
      bare: scratch,
      epochs: 3,
      steps: choices.steps ?? (scratch ? scratchSteps(choices.questions) : undefined),
      batchTokens: scratch ? 2048 : 4096,
    },
    speed: student.kind === "server" ? undefined : await trainingSpeed(),
  });
}

/** Dollars spent on this work so far. */
export async function spentSoFar(folder: string, price: Price | undefined): Promise<number> {
  const calls = await readAllJsonl<CallUsage>(join(folder, "spending.jsonl"));
  return calls.reduce((sum, call) => sum + callCost(call, price), 0);
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
  /** How the same work is started again, for messages. */
  again: string;
  signal?: AbortSignal;
}

/** Runs all steps, or those that are left. */
export async function runUp(input: UpInput, choices: UpChoices, options: RunUpOptions): Promise<UpResult> {
  const { folder } = choices;
  const claim = { kind: "up" as const, configuration: { input: input.kind, name: input.name } };
  const claimed = await claimFolder(folder, claim, {
    hint: { option: "out", value: "<folder>", purpose: "for other work" },
  });
  try {
    const all = planUp(input, choices);
    const prepared = all.findIndex(({ name }) => name === "split") + 1;
    const failed = await runCommands(folder, all.slice(0, prepared), options);
    if (failed !== 0) return { code: failed, steps: all, measuredOn: "held-out questions" };
    const heldOut = await readAllJsonl(all[prepared]!.inputs.at(-1)!, taskSchema);
    const few = heldOut.length === 0;
    if (few)
      options.note(
        "Too few questions to set some aside: the numbers are on the questions that the model is trained on.",
      );
    const steps = few ? planUp(input, { ...choices, measureOnTraining: true }) : all;
    const code = await runCommands(folder, steps.slice(prepared), options, prepared);
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
  { run, onStep, note, again, signal }: RunUpOptions,
  first = 0,
): Promise<number> {
  let code = 0;
  // Work of other inputs is deleted by the command that claims its folder.
  const wordsOf = ({ args, claims }: UpStep, stale: boolean) =>
    stale && claims ? [...args, "--resume", "fresh"] : args;
  const steps = plan.map((step) => ({
    ...step,
    identity: step.args,
    async run(stale: boolean) {
      const stopped = (how: string) =>
        note(`${how} in step "${step.name}". What is done is kept; continue with: ${again}`);
      code = await run(wordsOf(step, stale)).catch((error: unknown) => {
        stopped("Stopped");
        throw error;
      });
      if (code === 0) return;
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

/** What to do with the model. */
export function nextLines(input: UpInput, { folder, tools, student }: UpChoices): string[] {
  if (student.kind === "server" && !student.weightsHere)
    return [
      `next: serve the base model with the adapter in ${join(folder, "sft", "adapter")} (vLLM, SGLang), then coa eval run with --base-url`,
    ];
  const model = join(folder, "sft", "model");
  const given = toolFlags(input, join(folder, "runs.jsonl"), { tools });
  return [
    `next: ${typed(words`ask … --model ${model} ${given}`)}`,
    `next: ${typed(words`serve --model ${model} ${given}`)}`,
  ];
}
