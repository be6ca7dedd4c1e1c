/** A worker thread that judges batches of lines. What it needs arrives once, as data and as names of modules. */
import { parentPort, workerData } from "node:worker_threads";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { type Task, taskSchema } from "../core/task.ts";
import { type DistillConfig, loadPlugins } from "./distill-config.ts";
import { type RecordOutcome, recordJudge } from "./judge-record.ts";
import { taskIndex } from "./task-index.ts";

export interface WorkerSetup {
  /** Says that this thread was started for this: the file is also imported by others, some of them in threads. */
  role: "distill-worker";
  config: DistillConfig;
  modules: readonly string[];
  tasksFiles: readonly string[];
}

/** An outcome on its way between threads: the trajectory as the line it will be written as. */
export type WireOutcome = Omit<RecordOutcome, "trajectory"> & { line?: string };

/** Reads all tasks of these files. */
export async function readTasks(files: readonly string[]): Promise<Task[]> {
  const lists = await Promise.all(files.map((file) => readAllJsonl(file, taskSchema)));
  return lists.flat();
}

/** Judges a batch and makes its outcomes ready to be sent to the other thread. */
export async function judgeBatch(
  judge: (line: string) => Promise<RecordOutcome>,
  lines: readonly string[],
): Promise<WireOutcome[]> {
  // All at once: graders and checks that ask a model wait together, and the rest never waits.
  return Promise.all(
    lines.map(async (line): Promise<WireOutcome> => {
      const { trajectory, ...outcome } = await judge(line);
      return trajectory ? { ...outcome, line: JSON.stringify(trajectory) } : outcome;
    }),
  );
}

if (parentPort && (workerData as WorkerSetup | null)?.role === "distill-worker") {
  const { config, modules, tasksFiles } = workerData as WorkerSetup;
  const port = parentPort;
  const ready = (async () => recordJudge(config, await loadPlugins(modules), taskIndex(await readTasks(tasksFiles))))();
  port.on("message", async (batch: { number: number; lines: string[] }) => {
    try {
      port.postMessage({ number: batch.number, outcomes: await judgeBatch(await ready, batch.lines) });
    } catch (error) {
      port.postMessage({ number: batch.number, error: error instanceof Error ? error.message : String(error) });
    }
  });
}
