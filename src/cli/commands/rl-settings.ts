/** The section `train` as options of `trainRl`. */
import { seededRandom } from "../../base/work/random.ts";
import { UsageError } from "../../core/errors.ts";
import type { Grader, Reward } from "../../core/grader.ts";
import type { Profile } from "../../core/profile.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import { trajectoryToExample } from "../../dataset/trajectory-to-example.ts";
import { outcomeReward } from "../../graders/reward.ts";
import type { FaultPlan } from "../../tools/with-faults.ts";
import { type Credit, fromFirstFault, sharedPrefix } from "../../train/credit.ts";
import { fixedExamples } from "../../train/example-source.ts";
import { type ExtraLoss, guard } from "../../train/extra-loss.ts";
import { fallingRate } from "../../train/presets.ts";
import { judged } from "../../train/run-rollout.ts";
import type { ContextStage } from "../../train/schedule.ts";
import type { RlResult } from "../../train/train-rl.ts";
import type { TrainEngine } from "../open-train-engine.ts";
import type { Section } from "../settings/index.ts";
import { assertFits, optimizerOf, readExamples } from "./train-options.ts";

type TrainSettings = Section<"train">;

export interface Practice {
  tokenizer: Tokenizer;
  profile: Profile;
  /** The tools of a task, without faults. */
  toolsOf: (task: Task) => readonly Tool[];
}

/** What a teacher adds to the loop. */
export type Teach = (practice: Practice) => Promise<{ loss: ExtraLoss; rewardWeight: number }>;

export function rlSettings(
  train: TrainSettings,
  usual: { rate: number; steps: number },
  found: { context?: ContextStage[]; concurrency?: number },
) {
  if (train.startShare > 0 && train.average === 0)
    throw new UsageError("train.startShare is a part of the mean that train.average writes: set both");
  const { groups, samples, maxStaleness, inFlight, temperature, clipLow, clipHigh, dualClip } = train;
  const { schedule, optimizer } = optimizerOf(train, usual.steps, { ...usual, schedule: fallingRate });
  return {
    collect: { groups, samples, maxStaleness, inFlight, ...found, concurrency: train.concurrency ?? found.concurrency },
    loss: { name: "ppo" as const, clipLow, clipHigh, dualClip, temperature },
    optimizer,
    schedule: { ...schedule, byGroups: train.rateByGroups },
    updates: { passes: train.passes, perPass: train.updates, microBatchTokens: train.microBatchTokens },
  };
}

export function creditOf({ credit, baseline }: TrainSettings, plan: FaultPlan | undefined): Credit {
  if (credit !== "whole" && !plan) throw new UsageError(`train.credit=${credit} needs faults: give --tool-faults`);
  return {
    baseline,
    ...(credit !== "whole" && fromFirstFault()),
    ...(credit === "branch-at-fault" && sharedPrefix()),
  };
}

const guardTokens = 2048;

/** Chains of the starting model that `--guard own` takes right ones from. */
const ownChains = 200;

/** The demonstrations of `--guard`; `ownRight` answers tasks with the starting model and returns the chains that were right. */
export async function openGuard(
  { guard: folder, guardWeight }: TrainSettings,
  { engine, tokenizer }: Pick<TrainEngine, "engine" | "tokenizer">,
  { seed, model }: { seed: number; model?: string },
  ownRight: (count: number) => Promise<Trajectory[]>,
): Promise<ExtraLoss[]> {
  if (folder === undefined) return [];
  if (folder === "own") {
    const { maxContext: maxTokens } = engine.capabilities;
    const found = (await ownRight(ownChains)).map(
      (chain) => trajectoryToExample(chain, tokenizer, { maxTokens }).example,
    );
    const examples = found.filter((example) => example !== undefined);
    // Chains with live tools differ when a run is resumed; they are the same kind of data.
    return examples.length === 0
      ? []
      : [guard({ ...fixedExamples(examples, guardTokens, seed), fingerprint: folder }, guardWeight)];
  }
  const dataset = await openDataset(folder);
  assertFits(dataset, { tokenizer, maxContext: engine.capabilities.maxContext, name: model });
  return [guard(fixedExamples(await readExamples(dataset), guardTokens, seed), guardWeight)];
}

/** Tasks to measure or guard by, the same ones in every call of a run. */
export function someTasks(tasks: readonly Task[], count: number, seed: number): Task[] {
  return seededRandom(seed, "some").shuffle(tasks).slice(0, count);
}

export async function rightOnes(
  chains: readonly Trajectory[],
  tasks: readonly Task[],
  reward: Reward,
  signal?: AbortSignal,
) {
  const results = await Promise.all(chains.map((chain, at) => judged(reward, chain, tasks[at]!, signal)));
  return chains.filter((_, at) => results[at]!.correct && results[at]!.reward === 1);
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

/** Why nothing was learned, and what helps; `answers`: of how many greedy ones how many changed. Undefined where something was. */
export function nothingLearned(
  { lastReward, updates }: RlResult,
  how: { taught: boolean; credit: string; answers?: { of: number; changed: number }; rate: number },
): string | undefined {
  const { taught, credit, answers, rate } = how;
  if (lastReward === 0 && !taught)
    return "No rollout was ever right, so nothing was learned: teach the model first (coa train sft), or choose easier tasks (coa tasks select).";
  if (updates > 0 && answers && answers.changed < 0.01 * answers.of)
    return `${answers.changed} of ${answers.of} greedy answers changed, so nothing was learned: raise --rate (it was ${rate}), or give more --steps.`;
  if (updates > 0) return undefined;
  return credit === "whole"
    ? "Every group of rollouts was all right or all wrong, so nothing was learned: choose tasks in between (coa tasks select), or more --samples."
    : "No group had both a right and a wrong rollout after a fault, so nothing was learned: give more faults, or more --samples.";
}

export function rewardOf(settings: Section<"reward">, grader: Grader, profile: Profile): Reward {
  const { formatFactor: rule, overlongTokens: tokens, overlong: how } = settings;
  const format = rule === undefined ? undefined : rule === "strict" ? { rule, profile } : { rule };
  return outcomeReward(grader, { format, overlong: tokens === undefined ? undefined : { tokens, how } });
}
