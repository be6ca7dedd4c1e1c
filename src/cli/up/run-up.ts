/** From documents or traces to a compared model: look, estimate, then one command after the other. */
import { join } from "node:path";
import { claimFolder } from "../../base/files/claim-folder.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import type { CallUsage, Price } from "../../core/model.ts";
import { taskSchema } from "../../core/task.ts";
import { teamRunSchema } from "../../core/team-run.ts";
import { addUsage, callCost, emptyUsage } from "../../core/usage.ts";
import { studentParameters } from "./choose.ts";
import { type Estimate, estimateUp } from "./estimate.ts";
import type { UpInput } from "./look-at-input.ts";
import { type RunStepsOptions, runSteps } from "./run-steps.ts";
import { trainingSpeed } from "./training-speed.ts";
import { planUp, scratchSteps, typed, type UpChoices, type UpStep } from "./up-plan.ts";

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

/** Runs all steps, or those that are left. */
export async function runUp(
  input: UpInput,
  choices: UpChoices,
  options: Omit<RunStepsOptions, "folder" | "first">,
): Promise<UpResult> {
  const { folder } = choices;
  const claim = { kind: "up" as const, configuration: { input: input.kind, name: input.name } };
  const claimed = await claimFolder(folder, claim, {
    hint: { option: "out", value: "<folder>", purpose: "for other work" },
  });
  try {
    const all = planUp(input, choices);
    const prepared = all.findIndex(({ name }) => name === "split") + 1;
    const failed = await runSteps(all.slice(0, prepared), { ...options, folder });
    if (failed !== 0) return { code: failed, steps: all, measuredOn: "held-out questions" };
    const heldOut = await readAllJsonl(all[prepared]!.inputs.at(-1)!, taskSchema);
    const few = heldOut.length === 0;
    if (few)
      options.note(
        "Too few questions to set some aside: the numbers are on the questions that the model is trained on.",
      );
    const steps = few ? planUp(input, { ...choices, measureOnTraining: true }) : all;
    const code = await runSteps(steps.slice(prepared), { ...options, folder, first: prepared });
    if (code === 0) await claimed.report({ state: "done", done: steps.length, total: steps.length });
    return { code, steps, measuredOn: few ? "questions it was trained on" : "held-out questions" };
  } finally {
    await claimed.release();
  }
}

/** What to do with the model. */
export function nextLines(input: UpInput, { folder, tools, student }: UpChoices): string[] {
  if (student.kind === "server" && !student.weightsHere)
    return [
      `next: serve the base model with the adapter in ${join(folder, "sft", "adapter")} (vLLM, SGLang), then coa eval run with --base-url`,
    ];
  const model = join(folder, "sft", "model");
  const given =
    input.kind === "documents"
      ? ["--docs", input.path, ...tools]
      : tools.length > 0
        ? [...tools]
        : ["--recorded", join(folder, "runs.jsonl")];
  return [
    `next: ${typed(["ask", "…", "--model", model, ...given])}`,
    `next: ${typed(["serve", "--model", model, ...given])}`,
  ];
}
