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
import { StoppedError } from "../core/errors.ts";
import type { RolloutLine } from "./credit-group.ts";
import type { PoolState } from "./group-pool.ts";
import { configurationOf, type RlOptions, type RlSetup, rlSetup } from "./rl-options.ts";
import { poolSource, type RolloutSource, stepSource } from "./rollout-source.ts";
import { continueIt, openRunFolder, type RunFolder } from "./run-folder.ts";
import { contextAt, scheduleFactor } from "./schedule.ts";
import { costOf } from "./take-step.ts";
import { updatePolicy } from "./update-policy.ts";

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
  const keptSteps = lastSteps(steps, keep.models);
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

/** The numbers of the steps that make up the last share of a run: at least one of any share. */
function lastSteps(steps: number, share: number): number[] {
  const count = share > 0 ? Math.max(1, Math.round(steps * share)) : 0;
  return Array.from({ length: count }, (_, at) => steps - count + at + 1);
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
