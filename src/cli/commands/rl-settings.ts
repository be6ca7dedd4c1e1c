/** The section `train` as options of `trainRl`. */
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import type { Profile } from "../../language/profile.ts";
import type { FaultPlan } from "../../tools/with-faults.ts";
import { type Credit, fromFirstFault, sharedPrefix } from "../../train/credit.ts";
import { fixedExamples } from "../../train/example-source.ts";
import type { ExtraLoss } from "../../train/extra-loss.ts";
import { guard } from "../../train/guard.ts";
import type { ContextStage } from "../../train/schedule.ts";
import type { RlResult } from "../../train/train-rl.ts";
import type { TrainEngine } from "../open-train-engine.ts";
import { assertFits, readExamples } from "../read-examples.ts";
import type { Section } from "../settings/index.ts";
import { optimizerOf } from "./train-options.ts";

type TrainSettings = Section<"train">;

/** What a teacher is made from. */
export interface Practice {
  tokenizer: Tokenizer;
  profile: Profile;
  /** The tools of a task, without faults. */
  toolsOf: (task: Task) => readonly Tool[];
}

/** What a teacher adds to the loop. */
export type Teach = (practice: Practice) => Promise<{ loss: ExtraLoss; rewardWeight: number }>;

/** The numbers of the loop. */
export function rlSettings(train: TrainSettings, found: { context?: ContextStage[]; concurrency?: number }) {
  if (train.startShare > 0 && train.average === 0)
    throw new UsageError("train.startShare is a part of the mean that train.average writes: set both");
  const { groups, samples, maxStaleness, inFlight, temperature, clipLow, clipHigh, dualClip } = train;
  const { schedule, optimizer } = optimizerOf(train, { rate: 1e-6, decay: "constant" });
  return {
    collect: { groups, samples, maxStaleness, inFlight, ...found, concurrency: train.concurrency ?? found.concurrency },
    loss: { name: "ppo" as const, clipLow, clipHigh, dualClip, temperature },
    optimizer,
    schedule: { ...schedule, byGroups: train.rateByGroups },
    updates: { passes: train.passes, perPass: train.updates, microBatchTokens: train.microBatchTokens },
  };
}

/** What a reward is credited to. */
export function creditOf({ credit, baseline }: TrainSettings, plan: FaultPlan | undefined): Credit {
  if (credit !== "whole" && !plan) throw new UsageError(`--credit ${credit} needs faults: give --tool-faults`);
  return {
    baseline,
    ...(credit === "after-fault" && fromFirstFault()),
    ...(credit === "branch-at-fault" && sharedPrefix()),
  };
}

/** Tokens of demonstrations in one update. */
const guardTokens = 2048;

/** The demonstrations of `--guard`. */
export async function openGuard(
  { guard: folder, guardWeight }: TrainSettings,
  { engine, tokenizer }: Pick<TrainEngine, "engine" | "tokenizer">,
  { seed, model }: { seed: number; model?: string },
): Promise<ExtraLoss[]> {
  if (folder === undefined) return [];
  const dataset = await openDataset(folder);
  assertFits(dataset, { tokenizer, maxContext: engine.capabilities.maxContext, name: model });
  return [guard(fixedExamples(await readExamples(dataset), guardTokens, seed), guardWeight)];
}

/** Where workers sample, if not at the coordinator. */
export function samplerOf({ samplerUrl, samplerModel, baseModel = "" }: Section<"engine">) {
  return samplerUrl === undefined
    ? undefined
    : { baseURL: samplerUrl, baseModel, ...(samplerModel !== undefined && { model: samplerModel }) };
}

/** `16384,32768@40`: tokens, each from the step after its `@` on. */
export function readStages(text: string | undefined): ContextStage[] | undefined {
  return text?.split(",").map((part) => {
    const found = /^\s*(\d+)(?:@(\d+))?\s*$/.exec(part);
    if (!found) throw new UsageError(`train.context takes tokens[@step], such as 16384,32768@40, not "${part}"`);
    return { tokens: Number(found[1]), fromStep: Number(found[2] ?? 0) };
  });
}

/** Why nothing was learned, and what helps; undefined where something was. */
export function nothingLearned({ lastReward, updates }: RlResult, taught: boolean, credit: string): string | undefined {
  if (lastReward === 0 && !taught)
    return "No rollout was ever right, so nothing was learned: teach the model first (coa train sft), or choose easier tasks (coa tasks select).";
  if (updates > 0) return undefined;
  return credit === "whole"
    ? "Every group of rollouts was all right or all wrong, so nothing was learned: choose tasks in between (coa tasks select), or more --samples."
    : "No group had both a right and a wrong rollout after a fault, so nothing was learned: give more faults, or more --samples.";
}
