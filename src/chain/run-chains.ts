/**
 * Many chains at once. What is bounded is the number of model calls in flight: a chain that waits for a slow tool gives
 * its place to another, so slow tools hold nobody up. A second, wider bound keeps the number of live chains in check.
 * Chains come out as they end; one that fails is a trajectory like the others.
 */
import { randomUUID } from "node:crypto";
import type { Model } from "../core/model.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { ChainOptions } from "./chain-options.ts";
import { emptyReplay, readReplays } from "./chain-record.ts";
import { chainSetup } from "./chain-setup.ts";
import { runPrepared } from "./run-chain.ts";

export interface ChainsOptions extends Omit<ChainOptions, "id" | "replay"> {
  /** Model calls in flight. */
  concurrency?: number;
  /** Chains that have begun and not ended; by default four for each model call. */
  maxLive?: number;
  /** Chains for each task, with different seeds. */
  samples?: number;
}

/** Runs all tasks and yields each trajectory as it ends. With a journal, chains that ended before are not run again. */
export async function* runChains(
  tasks: Iterable<Task> | AsyncIterable<Task>,
  options: ChainsOptions,
): AsyncGenerator<Trajectory> {
  const { concurrency = 8, samples = 1, journal } = options;
  const maxLive = options.maxLive ?? concurrency * 4;
  const controller = new AbortController();
  const onAbort = () => controller.abort(options.signal?.reason);
  if (options.signal?.aborted) onAbort();
  else options.signal?.addEventListener("abort", onAbort, { once: true });
  const shared: ChainOptions = {
    ...options,
    model: withConcurrency(options.model, concurrency),
    signal: controller.signal,
  };
  const setup = chainSetup(shared);
  const replays = journal ? await readReplays(journal) : undefined;

  const live = new Set<Promise<void>>();
  const done: Trajectory[] = [];
  let failure: unknown;
  let wake: () => void = () => {};
  const oneEnds = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  function start(task: Task, sample: number): void {
    const id = replays ? `${task.id}#${sample}` : `${task.id}-${randomUUID()}`;
    const seed = options.sampling?.seed;
    const own =
      seed === undefined
        ? setup
        : { ...setup, options: { ...shared, sampling: { ...shared.sampling, seed: seedFor(seed, task.id, sample) } } };
    const running = runPrepared(id, task, own, replays?.get(id) ?? emptyReplay())
      .then((trajectory) => void done.push(trajectory))
      .catch((error) => {
        failure ??= error; // only a bug comes here: runs record their own failures
      })
      .finally(() => {
        live.delete(running);
        wake();
      });
    live.add(running);
  }

  try {
    for await (const task of tasks) {
      for (let sample = 0; sample < samples; sample++) {
        while (live.size >= maxLive) {
          await oneEnds();
          while (done.length > 0) yield done.shift()!;
        }
        start(task, sample);
      }
      while (done.length > 0) yield done.shift()!;
    }
    while (live.size > 0 || done.length > 0) {
      while (done.length > 0) yield done.shift()!;
      if (live.size > 0) await oneEnds();
    }
    if (failure !== undefined) throw failure;
  } finally {
    options.signal?.removeEventListener("abort", onAbort);
    controller.abort();
    await Promise.all(live);
  }
}

/** The same run gives every sample of every task its own seed, whatever the order they run in. */
export function seedFor(seed: number, taskId: string, sample: number): number {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (const text of [taskId, String(sample)]) {
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  }
  return hash >>> 1;
}

/** A model that answers at most `concurrency` calls at a time, first come first served. */
export function withConcurrency(model: Model, concurrency: number): Model {
  let free = concurrency;
  const waiting: (() => void)[] = [];
  let head = 0;
  return Object.create(model, {
    continue: {
      async *value(request: Parameters<Model["continue"]>[0]) {
        if (free > 0) free--;
        else await new Promise<void>((resolve) => waiting.push(resolve));
        try {
          yield* model.continue(request);
        } finally {
          const next = waiting[head];
          if (next) {
            head++;
            if (head > 1024) {
              waiting.splice(0, head);
              head = 0;
            }
            next();
          } else free++;
        }
      },
    },
  }) as Model;
}
