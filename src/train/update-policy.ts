/**
 * From groups of rollouts to a better policy: advantages within each group, one or more examples per rollout, and
 * `passes x perPass` clipped updates. What happened to each rollout is kept: its advantage and baseline,
 * whether it was trained on, how many of its tokens were clipped, how far its ratios went. The first update of a step
 * must find ratios of 1: rollouts sampled by the very weights that are trained; if it does not, the examples are not
 * what was sampled, and the run stops.
 */

import { seededRandom } from "../base/work/random.ts";
import type { Example } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import { creditGroup, lineOf, type RolloutLine, type TrainedExample } from "./credit-group.ts";
import type { ExtraLoss } from "./extra-loss.ts";
import { trainedTokens } from "./normalise.ts";
import type { RlSetup } from "./rl-options.ts";
import type { Collected } from "./sort-groups.ts";
import { type ImitatedExamples, type StepResult, takeStep } from "./take-step.ts";

interface UpdateContext {
  step: number;
  /** Version of the weights before the first update. */
  version: number;
  /** The schedule's factor. */
  factor: number;
  /** Longest context of a chain in this step. */
  maxContext: number;
}

/** Trains on the groups of one step; without anything to train on no update is made. */
export async function updatePolicy(
  options: RlSetup,
  { groups, dropped }: Pick<Collected, "groups" | "dropped">,
  { step, version, factor, maxContext }: UpdateContext,
): Promise<{ figures: Record<string, number>; rollouts: RolloutLine[] }> {
  const { engine, loss, tokenizer, temperature, signal, credit } = options;
  const { passes, perPass, microBatchTokens, maxRatioGap } = options.updates;
  const all = groups.flatMap((group) => creditGroup(group, version, { tokenizer, credit, maxContext }));
  const extras: { loss: ExtraLoss; examples: Example[] }[] = [];
  const taught: Record<string, number> = {};
  for (const extra of options.extraLosses) {
    const { maxContext } = engine.capabilities;
    const found = await extra.beforeUpdates?.({ groups, trained: all, tokenizer, maxContext, temperature, signal });
    extras.push({ loss: extra, examples: found?.examples ?? [] });
    Object.assign(taught, found?.figures);
  }
  const trained = all.filter(({ example }) => trainedTokens([example], { name: "importance_sampling" }) > 0);
  const rollouts = [
    ...new Set(trained.map(({ line }) => line)),
    ...dropped.map((one) => ({ ...lineOf(one, version), kept: false, dropped: one.reason })),
  ];
  if (trained.length === 0 && extras.every(({ examples }) => examples.length === 0))
    return { figures: { updates: 0, ...taught }, rollouts };
  const totals = { updates: 0, loss: 0, gradientNorm: 0, trainedTokens: 0 };
  const steps: StepResult[] = [];
  for (let pass = 0; pass < passes; pass++) {
    const random = seededRandom(options.seed, "update", step, pass);
    const parts = inParts(random.shuffle(trained), perPass);
    const imitated = extras.map(({ examples }) => inParts(random.shuffle(examples), perPass));
    for (let update = 0; update < Math.max(parts.length, ...imitated.map(({ length }) => length)); update++) {
      const batch = (parts[update] ?? []).sort((a, b) => a.example.input.length - b.example.input.length);
      const examples = batch.map(({ example }) => example);
      const imitate: ImitatedExamples[] = [];
      for (const [at, extra] of extras.entries()) {
        const drawn = (await extra.loss.batch?.((step * passes + pass) * perPass + update)) ?? [];
        const { coefficient } = extra.loss;
        imitate.push({ examples: [...(imitated[at]![update] ?? []), ...drawn], coefficient });
      }
      const result = await takeStep(engine, examples, {
        optimizer: options.optimizer,
        loss,
        factor,
        microBatchTokens,
        imitate,
      });
      noteRatios(batch, result);
      if (steps.length === 0) checkRatioGap(batch, result, maxRatioGap);
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
      ...taught,
      staleness: Math.max(0, ...trained.map(({ line }) => line.staleness)),
    },
  };
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
    ratioMax: Math.max(1, ...all.map((one) => one.ratioMax)),
    ratioGap: Math.max(0, ...steps[0]!.examples.map((one) => one.ratioGap)),
  };
}

function inParts<T>(items: readonly T[], parts: number): T[][] {
  if (items.length === 0) return [];
  const size = Math.ceil(items.length / Math.max(1, parts));
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
