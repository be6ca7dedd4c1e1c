/**
 * From groups of rollouts to a better policy: advantages within each group, one or more examples per rollout, and
 * `epochs x updatesPerEpoch` clipped updates. What became of each rollout is kept: its advantage and baseline, whether it was
 * trained on, how many of its tokens were clipped, how far its ratios went. The first update of a step must find ratios of 1:
 * rollouts sampled by the very weights that are trained; if it does not, the examples are not what was sampled, and the
 * run stops.
 */
import type { LossSpec } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { Example } from "../core/example.ts";
import { seededRandom } from "../core/random.ts";
import type { RolloutFigures } from "../core/rollout.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { rolloutToExamples } from "../dataset/trajectory-to-example.ts";
import { type Baseline, gradientWeight, groupAdvantages, groupBaseline } from "./advantages.ts";
import { type Collected, type DroppedRollout, type Group, rolloutKey } from "./collect-groups.ts";
import { trainedTokens } from "./normalise.ts";
import { microBatches, type StepResult, takeStep } from "./take-step.ts";
import type { RlOptions } from "./train-rl.ts";

/** What became of one rollout; a line of rollout-figures.jsonl. */
export interface RolloutLine extends RolloutFigures {
  rollout: string;
  taskId: string;
  reward: number | null;
  /** Optimizer steps between the weights that sampled it and those that were first trained on it. */
  staleness: number;
  /** Sampled tokens that were trained on. */
  tokens?: number;
}

/** An example together with the rollout it comes from. */
interface TrainedExample {
  example: Example;
  line: RolloutLine;
}

interface UpdateContext {
  step: number;
  /** Version of the weights before the first update. */
  version: number;
  /** The schedule's factor. */
  factor: number;
}

/** Trains on the groups of one step; without anything to train on no update is made. */
export async function updatePolicy(
  options: RlOptions & { loss: LossSpec },
  { groups, dropped }: Pick<Collected, "groups" | "dropped">,
  { step, version, factor }: UpdateContext,
): Promise<{ figures: Record<string, number>; rollouts: RolloutLine[] }> {
  const { engine, loss } = options;
  const { maxContext } = engine.capabilities;
  const trained = groups.flatMap((group) =>
    trainedGroup(group, options.tokenizer, version, maxContext, options.baseline),
  );
  const rollouts = [
    ...new Set(trained.map(({ line }) => line)),
    ...dropped.map((one) => ({ ...lineOf(one, version), kept: false, dropped: one.reason })),
  ];
  if (trained.length === 0) return { figures: { updates: 0 }, rollouts };
  if (options.kl) await subtractKl(trained, options.kl, options);
  const totals = { updates: 0, loss: 0, gradientNorm: 0, trainedTokens: 0 };
  const steps: StepResult[] = [];
  for (let epoch = 0; epoch < (options.epochs ?? 1); epoch++) {
    const order = seededRandom(options.seed, "update", step, epoch).shuffle(trained);
    for (const part of inParts(order, options.updatesPerEpoch ?? 2)) {
      const batch = part.sort((a, b) => a.example.input.length - b.example.input.length);
      const examples = batch.map(({ example }) => example);
      const result = await takeStep(engine, examples, { ...options, loss, factor });
      noteRatios(batch, result);
      if (steps.length === 0) checkRatioGap(batch, result, options.maxRatioGap ?? 0.01);
      steps.push(result);
      totals.updates++;
      totals.loss += result.loss;
      totals.gradientNorm += result.gradientNorm ?? 0;
      totals.trainedTokens += result.trainedTokens;
    }
  }
  return {
    rollouts,
    figures: {
      ...totals,
      loss: totals.loss / totals.updates,
      gradientNorm: totals.gradientNorm / totals.updates,
      ...ratioFigures(steps),
      staleness: Math.max(...trained.map(({ line }) => line.staleness)),
    },
  };
}

/** Every rollout of a group with its advantage on the tokens it sampled. */
export function trainedGroup(
  { rollouts }: Group,
  tokenizer: Tokenizer,
  version: number,
  maxContext = Number.POSITIVE_INFINITY,
  baselineName: Baseline = "group",
): TrainedExample[] {
  const rewards = rollouts.map(({ reward }) => reward);
  const examples = rollouts.map(({ trajectory }) =>
    rolloutToExamples(trajectory, tokenizer, 1).map((example) => withinContext(example, maxContext)),
  );
  const weights = examples.map((parts) => parts.reduce((sum, part) => sum + gradientWeight(part), 0));
  const baseline = groupBaseline(rewards, baselineName === "group" ? undefined : weights);
  const advantages = groupAdvantages(rewards, baseline);
  return rollouts.flatMap((rollout, at) => {
    const advantage = advantages[at]!;
    const parts = examples[at]!.map((example) => ({
      ...example,
      advantages: example.advantages?.map((one) => one * advantage),
    })).filter((example) => trainedTokens([example], { name: "importance_sampling" }) > 0);
    const tokens = trainedTokens(parts, { name: "importance_sampling" });
    const { policyVersion } = rollout.trajectory;
    const basics = lineOf({ ...rollout, taskId: rollout.task.id, policyVersion }, version);
    const line = { ...basics, kept: true, baseline, advantage, tokens, clippedTokens: 0 };
    return parts.map((example) => ({ example, line }));
  });
}

function lineOf(rollout: Omit<DroppedRollout, "reason">, version: number) {
  const { step, round, slot, reward, taskId, policyVersion } = rollout;
  const staleness = version - (policyVersion ?? version);
  return { step, group: `${step}/${round}/${slot}`, rollout: rolloutKey(rollout), taskId, reward, staleness };
}

function noteRatios(batch: readonly TrainedExample[], { examples }: StepResult): void {
  batch.forEach(({ line }, at) => {
    const { clippedTokens, ratioMean, ratioMin, ratioMax } = examples[at]!;
    const { min, max } = line.ratio ?? { min: ratioMin, max: ratioMax };
    line.clippedTokens = Math.max(line.clippedTokens ?? 0, clippedTokens);
    line.ratio = { mean: ratioMean, min: Math.min(min, ratioMin), max: Math.max(max, ratioMax) };
  });
}

function checkRatioGap(batch: readonly TrainedExample[], { examples }: StepResult, limit: number): void {
  batch.forEach(({ line }, at) => {
    const { ratioGap } = examples[at]!;
    if (line.staleness > 0 || ratioGap <= limit) return;
    throw new CoaError(
      "engine",
      `rollout ${line.rollout}: a log-probability is ${ratioGap.toPrecision(3)} away from the one it was sampled with, more than ${limit}. ` +
        "Rollouts must be sampled from the policy they are given, at the run's temperature, without top-p, top-k or masks, and trained on the ids and the context they were sampled with",
    );
  });
}

function ratioFigures(steps: readonly StepResult[]): Record<string, number> {
  const all = steps.flatMap(({ examples }) => examples);
  const tokens = Math.max(
    1,
    all.reduce((sum, one) => sum + one.tokens, 0),
  );
  return {
    clipFraction: all.reduce((sum, one) => sum + one.clippedTokens, 0) / tokens,
    ratioMean: all.reduce((sum, one) => sum + one.ratioMean * one.tokens, 0) / tokens,
    ratioMax: Math.max(...all.map((one) => one.ratioMax)),
    ratioGap: Math.max(...steps[0]!.examples.map((one) => one.ratioGap)),
  };
}

/** A rollout that a last observation took past the window: what the model wrote stands before it and is kept. */
function withinContext(example: Example, maxContext: number): Example {
  if (example.input.length <= maxContext) return example;
  return {
    input: example.input.slice(0, maxContext),
    targets: example.targets.slice(0, maxContext),
    oldLogprobs: example.oldLogprobs?.slice(0, maxContext),
    advantages: example.advantages?.slice(0, maxContext),
  };
}

/** Charges every sampled token for how far the policy has gone from the reference. */
async function subtractKl(
  trained: readonly TrainedExample[],
  { coefficient, reference }: NonNullable<RlOptions["kl"]>,
  { microBatchTokens, temperature }: RlOptions,
): Promise<void> {
  const examples = trained.map(({ example }) => example);
  for (const part of microBatches(examples, microBatchTokens)) {
    const { logprobs } = await reference.forward(part, { name: "cross_entropy", temperature });
    part.forEach(({ advantages, oldLogprobs }, index) => {
      advantages?.forEach((advantage, at) => {
        if (advantage !== 0) advantages[at]! -= coefficient * ((oldLogprobs?.[at] ?? 0) - (logprobs[index]?.[at] ?? 0));
      });
    });
  }
}

function inParts<T>(items: readonly T[], parts: number): T[][] {
  const size = Math.ceil(items.length / Math.max(1, parts));
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
