/**
 * From groups of rollouts to a better policy: advantages within each group, one or more examples per rollout, and
 * `epochs x updatesPerEpoch` clipped updates. What happened to each rollout is kept: its advantage and baseline,
 * whether it was trained on, how many of its tokens were clipped, how far its ratios went. The first update of a step
 * must find ratios of 1: rollouts sampled by the very weights that are trained; if it does not, the examples are not
 * what was sampled, and the run stops.
 */
import type { LossSpec } from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { Example } from "../core/example.ts";
import { seededRandom } from "../core/random.ts";
import { correctRollouts } from "./correct-rollouts.ts";
import { creditGroup, lineOf, type RolloutLine, type TrainedExample } from "./credit-group.ts";
import { trainedTokens } from "./normalise.ts";
import type { Collected, Group } from "./sort-groups.ts";
import { type ImitatedExamples, type StepResult, takeStep } from "./take-step.ts";
import type { TokenTeacher } from "./token-teacher.ts";
import type { RlOptions } from "./train-rl.ts";

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
  options: RlOptions & { loss: LossSpec },
  { groups, dropped }: Pick<Collected, "groups" | "dropped">,
  { step, version, factor, maxContext }: UpdateContext,
): Promise<{ figures: Record<string, number>; rollouts: RolloutLine[] }> {
  const { engine, loss } = options;
  const all = groups.flatMap((group) => creditGroup(group, version, { ...options, maxContext }));
  for (const { teacher, coefficient } of options.teachers ?? [])
    await addTeacher(all, teacher, coefficient, options.temperature ?? 1);
  const trained = all.filter(({ example }) => trainedTokens([example], { name: "importance_sampling" }) > 0);
  const rollouts = [
    ...new Set(trained.map(({ line }) => line)),
    ...dropped.map((one) => ({ ...lineOf(one, version), kept: false, dropped: one.reason })),
  ];
  const corrections = await correct(options, groups);
  const taught = corrections?.figures ?? {};
  if (trained.length === 0 && !corrections?.examples.length) return { figures: { updates: 0, ...taught }, rollouts };
  const totals = { updates: 0, loss: 0, gradientNorm: 0, trainedTokens: 0 };
  const steps: StepResult[] = [];
  for (let epoch = 0; epoch < (options.epochs ?? 1); epoch++) {
    const random = seededRandom(options.seed, "update", step, epoch);
    const updates = options.updatesPerEpoch ?? 2;
    const parts = inParts(random.shuffle(trained), updates);
    const imitated = inParts(random.shuffle(corrections?.examples ?? []), updates);
    for (let update = 0; update < Math.max(parts.length, imitated.length); update++) {
      const batch = (parts[update] ?? []).sort((a, b) => a.example.input.length - b.example.input.length);
      const examples = batch.map(({ example }) => example);
      const imitate: ImitatedExamples[] = [];
      const corrected = imitated[update];
      if (corrected) imitate.push({ examples: corrected, coefficient: options.corrections?.coefficient ?? 1 });
      if (options.guard) {
        const number = (step * (options.epochs ?? 1) + epoch) * updates + update;
        imitate.push({ ...options.guard, examples: await options.guard.source.batch(number) });
      }
      const result = await takeStep(engine, examples, { ...options, loss, factor, imitate });
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
      ...taught,
      staleness: Math.max(0, ...trained.map(({ line }) => line.staleness)),
    },
  };
}

/** Asks the corrector about this step's failures; figures say how many it corrected and why not the others. */
async function correct(
  { corrections, tokenizer, engine, signal }: RlOptions,
  groups: readonly Group[],
): Promise<{ examples: Example[]; figures: Record<string, number> } | null> {
  if (!corrections) return null;
  const { corrector, limit } = corrections;
  const { maxContext } = engine.capabilities;
  const rollouts = groups.flatMap((group) => group.rollouts);
  const { examples, asked, refused } = await correctRollouts(rollouts, corrector, {
    tokenizer,
    maxContext,
    limit,
    signal,
  });
  const figures: Record<string, number> = { asked, corrected: examples.length };
  for (const [reason, count] of Object.entries(refused)) figures[`not corrected: ${reason}`] = count;
  return { examples, figures };
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

/** Adds to every sampled token what the teacher finds it more likely than the student did. */
async function addTeacher(
  trained: readonly TrainedExample[],
  teacher: TokenTeacher,
  coefficient: number,
  temperature: number,
): Promise<void> {
  const scores = await teacher.score(
    trained.map(({ example }) => example),
    temperature,
  );
  trained.forEach(({ example: { advantages, oldLogprobs }, sampled }, index) => {
    sampled.forEach((mark, at) => {
      if (mark !== 0) advantages![at]! += coefficient * (scores[index]![at]! - (oldLogprobs?.[at] ?? 0));
    });
  });
}

function inParts<T>(items: readonly T[], parts: number): T[][] {
  if (items.length === 0) return [];
  const size = Math.ceil(items.length / Math.max(1, parts));
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
