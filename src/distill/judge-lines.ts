/** Lines judged in batches, in this thread or in several; batches come out in the order they went in. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { CoaError, UsageError } from "../core/errors.ts";
import { type DistillConfig, type DistillPlugins, loadPlugins } from "./distill-config.ts";
import { judgeBatch, readTasks, type WireOutcome, type WorkerSetup } from "./distill-worker.ts";
import type { InputLine } from "./input-lines.ts";
import { recordJudge } from "./judge-record.ts";
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
  lines: InputLine[];
  outcomes: WireOutcome[];
}

const batchLines = 64;

/** Judges all lines. */
export async function* judgeLines(
  lines: AsyncIterable<InputLine>,
  options: JudgeLinesOptions,
): AsyncGenerator<JudgedBatch> {
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
  const pool = startPool(workers, { role: "distill-worker", config: options.config, modules, tasksFiles });
  try {
    const waiting: { lines: InputLine[]; outcomes: Promise<WireOutcome[]> }[] = [];
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

async function* batches(lines: AsyncIterable<InputLine>): AsyncGenerator<InputLine[]> {
  let batch: InputLine[] = [];
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

interface Waiting {
  resolve(outcomes: WireOutcome[]): void;
  reject(error: unknown): void;
}

function startPool(count: number, setup: WorkerSetup): Pool {
  // The same file is TypeScript here and JavaScript in the published package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./distill-worker.ts" : "./distill-worker.js",
    import.meta.url,
  );
  const waiting = new Map<number, Waiting & { worker: number }>();
  const busy = new Array<number>(count).fill(0);
  let number = 0;
  let closing = false;
  const workers = Array.from({ length: count }, (_, place) => {
    // Flags of the main thread (--eval, --test, --inspect…) mean nothing here, and some would stop the thread.
    const worker = new Worker(file, { workerData: setup, execArgv: [] });
    const failAll = (error: unknown) => {
      for (const [key, entry] of waiting) {
        if (entry.worker !== place) continue;
        waiting.delete(key);
        entry.reject(
          new CoaError("filter", `a worker of the distillation stopped: ${String(error)}`, { cause: error }),
        );
      }
    };
    worker.on("message", (message: { number: number; outcomes?: WireOutcome[]; error?: string }) => {
      const entry = waiting.get(message.number);
      if (!entry) return;
      waiting.delete(message.number);
      busy[place]!--;
      if (message.outcomes) entry.resolve(message.outcomes);
      else entry.reject(new CoaError("filter", `a batch could not be judged: ${message.error}`));
    });
    worker.on("error", failAll);
    worker.on("exit", (code) => {
      if (!closing) failAll(`exit code ${code}`);
    });
    return worker;
  });
  return {
    judge(lines) {
      const place = busy.indexOf(Math.min(...busy));
      busy[place]!++;
      const key = number++;
      const promise = new Promise<WireOutcome[]>((resolve, reject) =>
        waiting.set(key, { resolve, reject, worker: place }),
      );
      promise.catch(() => {}); // the consumer awaits it later; until then a failure is not unhandled
      workers[place]!.postMessage({ number: key, lines });
      return promise;
    },
    async close() {
      closing = true;
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
