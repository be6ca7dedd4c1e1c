/** Lines judged in batches, in this thread or in several; batches come out in the order they went in. */

import { availableParallelism } from "node:os";
import type { Line } from "../base/files/lines.ts";
import { startThread } from "../base/work/thread.ts";
import { UsageError } from "../core/errors.ts";
import { type DistillConfig, type DistillPlugins, loadPlugins } from "./distill-config.ts";
import type { DistillCalls, WorkerSetup } from "./distill-worker.ts";
import { judgeBatch, readTasks, recordJudge, type WireOutcome } from "./judge-record.ts";
import { taskIndex } from "./task-index.ts";

export interface JudgeLinesOptions {
  config: DistillConfig;
  plugins?: DistillPlugins;
  modules?: readonly string[];
  tasksFiles?: readonly string[];
  workers?: number;
  signal?: AbortSignal;
}

export interface JudgedBatch {
  lines: Line[];
  outcomes: WireOutcome[];
}

const batchLines = 64;

export async function* judgeLines(lines: AsyncIterable<Line>, options: JudgeLinesOptions): AsyncGenerator<JudgedBatch> {
  const { plugins, modules = [], tasksFiles = [] } = options;
  const workers = options.workers ?? (plugins ? 0 : Math.max(1, availableParallelism() - 1));
  if (workers > 0 && plugins) {
    throw new UsageError("plugins given as functions can't go to worker threads; give modules, or workers: 0");
  }
  if (workers === 0) {
    const all = { ...(await loadPlugins(modules)), ...plugins };
    const judge = recordJudge(options.config, all, taskIndex(await readTasks(tasksFiles)), options.signal);
    for await (const batch of batches(lines)) {
      options.signal?.throwIfAborted();
      yield {
        lines: batch,
        outcomes: await judgeBatch(
          judge,
          batch.map((line) => line.text),
        ),
      };
    }
    return;
  }
  const pool = startPool(workers, { config: options.config, modules, tasksFiles });
  try {
    const waiting: { lines: Line[]; outcomes: Promise<WireOutcome[]> }[] = [];
    for await (const batch of batches(lines)) {
      options.signal?.throwIfAborted();
      waiting.push({ lines: batch, outcomes: pool.judge(batch.map((line) => line.text)) });
      // Two batches per worker keep it busy; more would only hold memory.
      if (waiting.length >= workers * 2) {
        const first = waiting.shift()!;
        yield { lines: first.lines, outcomes: await first.outcomes };
      }
    }
    for (const { lines: batch, outcomes } of waiting) yield { lines: batch, outcomes: await outcomes };
  } finally {
    await pool.close();
  }
}

async function* batches(lines: AsyncIterable<Line>): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  for await (const line of lines) {
    batch.push(line);
    if (batch.length < batchLines) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface Pool {
  judge(lines: string[]): Promise<WireOutcome[]>;
  close(): Promise<void>;
}

function startPool(count: number, setup: WorkerSetup): Pool {
  const threads = Array.from({ length: count }, () => ({
    busy: 0,
    thread: startThread<DistillCalls>(new URL("./distill-worker.ts", import.meta.url), {
      name: "a worker of the distillation",
      boundary: "filter",
      data: setup,
    }),
  }));
  return {
    judge(lines) {
      const next = threads.reduce((best, one) => (one.busy < best.busy ? one : best));
      next.busy++;
      const outcomes = next.thread.call("judge", lines).finally(() => next.busy--);
      outcomes.catch(() => {}); // the consumer awaits it later; until then a failure is not unhandled
      return outcomes;
    },
    close: async () => void (await Promise.all(threads.map(({ thread }) => thread.close()))),
  };
}
