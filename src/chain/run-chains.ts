/**
 * Many chains at once. What is bounded is the number of model calls in flight: a chain that waits for a slow tool gives
 * its place to another, so slow tools do not delay other chains. A second, larger limit holds for the number of live
 * chains. Chains come out as they end; one that fails is a trajectory like the others.
 */

import { randomUUID } from "node:crypto";
import { checkOptions } from "../base/work/check-options.ts";
import { asTheyEnd, semaphore } from "../base/work/limiter.ts";
import { sampleSeed } from "../base/work/random.ts";
import { limitedModel } from "../base/work/wrap-model.ts";
import { type Task, taskOf } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type ChainOptions, chainSetup } from "./chain-options.ts";
import { emptyReplay, readReplays } from "./replay.ts";
import { runPrepared } from "./run-chain.ts";

export interface ChainsOptions extends Omit<ChainOptions, "id" | "replay"> {
  concurrency?: number;
  /** Chains that have begun and not ended; by default four for each model call. */
  maxLive?: number;
  /** Chains for each task, with different seeds. */
  samples?: number;
}

/** Runs all tasks and yields each trajectory as it ends. With a journal, chains that ended before are not run again. */
export async function* runChains(
  tasks: Iterable<Task | string> | AsyncIterable<Task | string>,
  options: ChainsOptions,
): AsyncGenerator<Trajectory> {
  checkOptions("runChains", options);
  const { concurrency = 8, samples = 1, journal } = options;
  const maxLive = options.maxLive ?? concurrency * 4;
  const controller = new AbortController();
  const shared: ChainOptions = {
    ...options,
    model: limitedModel(options.model, semaphore(concurrency)),
    signal: AbortSignal.any([controller.signal, ...(options.signal ? [options.signal] : [])]),
  };
  const setup = chainSetup(shared);
  const replays = journal ? await readReplays(journal) : undefined;

  const run = ({ task, sample }: { task: Task; sample: number }): Promise<Trajectory> => {
    const id = replays ? `${task.id}#${sample}` : `${task.id}-${randomUUID()}`;
    const seed = options.sampling?.seed;
    const own =
      seed === undefined
        ? setup
        : { ...setup, sampling: { ...setup.sampling, seed: sampleSeed(seed, task.id, sample) } };
    return runPrepared(id, task, own, replays?.get(id) ?? emptyReplay());
  };
  yield* asTheyEnd(each(tasks, samples), { concurrency: maxLive, stop: () => controller.abort() }, run);
}

async function* each(tasks: Iterable<Task | string> | AsyncIterable<Task | string>, samples: number) {
  for await (const task of tasks) for (let sample = 0; sample < samples; sample++) yield { task: taskOf(task), sample };
}
