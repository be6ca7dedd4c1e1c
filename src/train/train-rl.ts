/**
 * Agentic RL with DAPO, over the Engine interface and the chain runtime. One step:
 *   1. collect groups of rollouts with live tools; groups that teach nothing are dropped and refilled;
 *   2. advantage = reward against the group's mean, in its standard deviations; every token the model wrote carries it,
 *      observations carry 0;
 *   3. several updates on these rollouts with the clipped loss (0.8 to 1.28 by default, dual clip for negative
 *      advantages), averaged over tokens, not over rollouts; no KL term.
 * Ids and log-probabilities are used as sampled. Rollouts are journalled as they finish and a checkpoint names the steps
 * it contains, so a killed run loses no rollout and trains on none twice. `recipes/rl-loop.ts` is the same loop without that.
 */
import { join } from "node:path";
import { seededRandom } from "../base/work/random.ts";
import type { Example } from "../core/engine.ts";
import { CoaError, StoppedError } from "../core/errors.ts";
import { creditGroup, lineOf, type RolloutLine, type TrainedExample } from "./credit-group.ts";
import type { ExtraLoss } from "./extra-loss.ts";
import type { PoolState } from "./group-pool.ts";
import { trainedTokens } from "./normalise.ts";
import { configurationOf, type RlOptions, type RlSetup, rlSetup } from "./rl-options.ts";
import { poolSource, type RolloutSource, stepSource } from "./rollout-source.ts";
import { continueIt, openRunFolder, type RunFolder } from "./run-folder.ts";
import { contextAt, scheduleFactor } from "./schedule.ts";
import type { Collected } from "./sort-groups.ts";
import { costOf, type ImitatedExamples, type StepResult, takeStep } from "./take-step.ts";

export interface RlResult {
  steps: number;
  rollouts: number;
  /** Changes of the weights; 0 where no group had anything to learn from. */
  updates: number;
  /** Mean reward of the first and of the last fifth of the steps. */
  firstReward: number;
  lastReward: number;
  /** What says at the end of the run that the policy collapses, and what to do; absent where nothing does. */
  collapse?: string;
  /** Folders of the models that were kept, oldest first. */
  models: string[];
  /** Fingerprint of the tasks; empty where a function gave them. */
  dataFingerprint: string;
  /** Checkpoints that were damaged and set aside; the run went on from the one before. */
  damaged: readonly string[];
}

/** What a run must remember beside the engine's state. */
interface Memory {
  rollouts: number;
  updates: number;
  rewards: number[]; // [step]
  entropies: number[]; // [step]
  /** Groups in flight, where steps do not wait for their own. */
  pool?: PoolState;
}

/** Runs the steps, or stops cleanly on an abort with a checkpoint to resume from. */
export async function trainRl(options: RlOptions): Promise<RlResult> {
  const setup = rlSetup(options);
  const { engine, seed, dataFingerprint } = setup;
  const description = { kind: "rl" as const, config: configurationOf(setup), seed, dataFingerprint };
  const folder = await openRunFolder<Memory>(options.folder, description, options.resume);
  try {
    if (folder.checkpoint) await engine.loadState(folder.checkpoint.state);
    const source =
      setup.collect.inFlight === 0
        ? await stepSource(setup, folder.checkpoint?.step ?? 0)
        : await poolSource(setup, folder.checkpoint);
    try {
      return await loop(setup, folder, source);
    } finally {
      await source.close();
    }
  } finally {
    await folder.close();
  }
}

async function loop(setup: RlSetup, folder: RunFolder<Memory>, source: RolloutSource): Promise<RlResult> {
  const { engine, steps, schedule, keep, collect, signal } = setup;
  const memory: Memory = folder.checkpoint?.memory ?? { rollouts: 0, updates: 0, rewards: [], entropies: [] };
  const rolloutFigures = await folder.stepFile<RolloutLine>("rollout-figures.jsonl");
  // The last share of a run: at least one step of any share.
  const kept = keep.models > 0 ? Math.max(1, Math.round(steps * keep.models)) : 0;
  const keptSteps = Array.from({ length: kept }, (_, at) => steps - kept + at + 1);
  const modelOf = (step: number) => join(folder.path, "models", `step-${String(step).padStart(5, "0")}`);
  let { version } = await engine.publish();
  const save = (step: number) => folder.save(step, engine, { ...memory, pool: source.state?.() });
  for (let step = folder.checkpoint?.step ?? 0; step < steps; ) {
    const startedAt = performance.now();
    const collected = await source.collect(step).catch(async (error: unknown) => {
      // Steps whose groups came from a pool can't be done again as they were.
      if (signal?.aborted && source.state && step > (folder.checkpoint?.step ?? 0)) await save(step);
      throw error;
    });
    const collectMs = performance.now() - startedAt;
    // What few groups say is mostly chance; the optimizer would follow it as far as it follows many.
    const byGroups = schedule.byGroups ? Math.min(1, collected.groups.length / collect.groups) : 1;
    const update = await updatePolicy(setup, collected, {
      step,
      version,
      factor: scheduleFactor(schedule, step, steps) * byGroups,
      maxContext: contextAt(collect.context, step, engine.capabilities.maxContext),
    });
    const updates = update.figures["updates"] ?? 0;
    version += updates;
    step++;
    memory.rollouts += collected.rollouts;
    memory.updates += updates;
    memory.rewards.push(collected.meanReward);
    memory.entropies.push(collected.entropy);
    const collapse = collapseSign(memory.rewards, memory.entropies);
    const { groups, dropped: _, ...counts } = collected;
    const trainMs = performance.now() - startedAt - collectMs;
    const spent = engine.usage?.() ?? {};
    await folder.log({ step, ...counts, keptGroups: groups.length, ...update.figures, collectMs, trainMs, ...spent });
    for (const line of update.rollouts) await rolloutFigures.append({ ...line, step });
    setup.onProgress?.({
      stage: "rl",
      done: step,
      total: steps,
      figures: {
        reward: collected.meanReward,
        curve: memory.rewards,
        mixed: `${collected.mixedGroups}/${collected.finishedGroups}`,
        entropy: collected.entropy,
        rollouts: memory.rollouts,
        ...(collapse !== undefined && { COLLAPSE: collapse }),
        ...costOf(engine),
      },
    });
    if (keptSteps.includes(step)) await engine.saveModel(modelOf(step), { exact: true });
    if (step % keep.checkpointEvery === 0 || step === steps || signal?.aborted) await save(step);
    if (signal?.aborted) throw new StoppedError(`stopped after step ${step} of ${folder.path}`, { hint: continueIt });
  }
  await folder.finish(steps);
  const { rewards, entropies, ...counts } = memory;
  const collapse = collapseSign(rewards, entropies);
  const fifth = Math.max(1, Math.floor(rewards.length / 5));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return {
    steps,
    rollouts: counts.rollouts,
    updates: counts.updates,
    firstReward: mean(rewards.slice(0, fifth)),
    lastReward: mean(rewards.slice(-fifth)),
    ...(collapse !== undefined && { collapse }),
    models: keptSteps.map(modelOf),
    dataFingerprint: setup.dataFingerprint,
    damaged: folder.damaged,
  };
}

/** Steps whose mean is compared with that of others. */
const window = 8;

/**
 * Signs that reinforcement destroys what it trained. Rewards that rose and fall again well beyond their noise mean a rate that is
 * too high for what few groups say; a policy whose entropy is nearly gone writes the same rollout every time and learns nothing more.
 */
export function collapseSign(rewards: readonly number[], entropies: readonly number[]): string | undefined {
  const means = windows(rewards);
  const [best, last] = [Math.max(0, ...means), means.at(-1) ?? 0];
  const fall = best - last;
  if (means.length > 0 && fall > 0.15 * best && fall > 4 * noise(rewards) * Math.sqrt(2 / window))
    return `reward fell from ${best.toFixed(2)} to ${last.toFixed(2)}: lower --rate, or use --preset verifiable (a falling rate, scaled by the groups that teach)`;
  const [first, now] = [windows(entropies).at(0) ?? 0, windows(entropies).at(-1) ?? 0];
  if (first > 0.01 && now < first / 5)
    return `entropy fell from ${first.toPrecision(2)} to ${now.toPrecision(2)}: rollouts are becoming equal; raise train.clipHigh or train.temperature, or take harder tasks`;
  return undefined;
}

/** The mean of every run of `window` values. */
function windows(values: readonly number[]): number[] {
  return values.slice(window - 1).map((_, from) => {
    return values.slice(from, from + window).reduce((sum, value) => sum + value, 0) / window;
  });
}

/** Standard deviation of one value, from the differences of neighbours: a slow rise or fall is not noise. */
function noise(values: readonly number[]): number {
  const squares = values.slice(1).reduce((sum, value, at) => sum + (value - values[at]!) ** 2, 0);
  return Math.sqrt(squares / 2 / Math.max(1, values.length - 1));
}

/**
 * Trains on the groups of one step; without anything to train on no update is made. The first update must find ratios of 1 for
 * rollouts sampled by the very weights that are trained; if it does not, the examples are not what was sampled, and the run stops.
 */
async function updatePolicy(
  options: RlSetup,
  { groups, dropped }: Pick<Collected, "groups" | "dropped">,
  { step, version, factor, maxContext }: { step: number; version: number; factor: number; maxContext: number },
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
