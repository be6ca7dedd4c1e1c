/** Students trained further from a model folder: the team's chains of training worlds, and some steps of imitation. */

import type { Example } from "../../src/core/engine.ts";
import type { Profile } from "../../src/core/profile.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { type ExampleOptions, trajectoryToExample } from "../../src/dataset/trajectory-to-example.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labModelUse } from "../../src/lab/lab-model-use.ts";
import { type LabRunOptions, labRuns } from "../../src/lab/lab-runs.ts";
import { type LabModel, openLabModel } from "../../src/lab/quickstart/open-model.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import { saveTrained } from "../../src/train/save-trained.ts";
import { takeStep } from "../../src/train/take-step.ts";
import { processorSeconds } from "./lab-exam.ts";

/** Chains of team runs, world after world; those that ended wrongly only where `wrong` asks for them: a check learns from them too. */
export async function teamChains(
  options: LabRunOptions & { count: number; profile: Profile; firstWorld?: number; wrong?: boolean },
): Promise<Trajectory[]> {
  const { count, profile, firstWorld = 0, wrong = false, ...runs } = options;
  const chains: Trajectory[] = [];
  for (let world = firstWorld; chains.length < count; world++) {
    for await (const { task, run } of labRuns(runs, world)) {
      const { trajectory } = distillRun(run, { profile, systemPrompt: false });
      if (trajectory && (wrong || run.answer === task.answers[0])) chains.push(trajectory);
    }
  }
  return chains.slice(0, count);
}

export interface ImitateOptions {
  steps: number;
  seed: number;
  batchTokens?: number;
  rate?: number;
  /** More sets of examples: each step takes a batch of every set, and the mean loss of each counts the same. */
  beside?: readonly { examples: readonly Example[]; batchTokens: number }[];
}

export interface TeachOptions extends ImitateOptions {
  start: string;
  /** Where to keep the student. */
  save?: string;
}

/** Opens the starting model and imitates the chains for some steps. */
export async function teach(chains: readonly Trajectory[], options: TeachOptions): Promise<LabModel> {
  const lab = await openLabModel(options.start, { optimizer: "muon", threads: 1 });
  await imitate(lab, examplesOf(chains, lab), options);
  if (options.save) await saveTrained({ model: options.save }, { ...lab, use: labModelUse([]) });
  return lab;
}

/** Chains as examples of a model; those longer than its context are left out. */
export function examplesOf(
  chains: readonly Trajectory[],
  { tokenizer }: Pick<LabModel, "tokenizer">,
  weightOf?: ExampleOptions["weightOf"],
): Example[] {
  return chains.flatMap((chain) => trajectoryToExample(chain, tokenizer, { maxTokens: 1024, weightOf }).example ?? []);
}

/** Imitates examples with a model whose optimizer is Muon; the rate falls to a twentieth. */
export async function imitate(
  { engine }: Pick<LabModel, "engine">,
  examples: readonly Example[],
  { steps, seed, batchTokens = 2048, rate = 5e-4, beside = [] }: ImitateOptions,
): Promise<void> {
  const sources = [{ examples, batchTokens }, ...beside].map((set) =>
    fixedExamples(set.examples, set.batchTokens, seed),
  );
  const optimizer = { learningRate: rate, matrixLearningRate: rate * 3.3, beta1: 0.9, beta2: 0.95, gradientClip: 1 };
  const loss = { name: "cross_entropy" } as const;
  let sum = 0;
  for (let step = 0; step < steps; step++) {
    const factor = Math.min(1, (step + 1) / 10) * (1 - (0.95 * step) / steps);
    const [first, ...others] = (await Promise.all(sources.map((source) => source.batch(step)))) as Example[][];
    const also = others.map((batch) => ({ examples: batch, coefficient: 1 }));
    sum += (await takeStep(engine, first!, { loss, optimizer, factor, imitate: also })).loss;
    if (step % 20 !== 19) continue;
    console.error(`step ${step + 1}: mean loss ${(sum / 20).toFixed(4)} (${Math.round(processorSeconds())} s)`);
    sum = 0;
  }
}
