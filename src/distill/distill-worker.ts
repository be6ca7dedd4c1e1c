/** A worker thread that judges batches of lines. What it needs arrives once, as data and as names of modules. */
import { workerData } from "node:worker_threads";
import { answerCalls } from "../base/work/thread.ts";
import { type DistillConfig, loadPlugins } from "./distill-config.ts";
import { judgeBatch, readTasks, recordJudge } from "./judge-record.ts";
import { taskIndex } from "./task-index.ts";

export interface WorkerSetup {
  config: DistillConfig;
  modules: readonly string[];
  tasksFiles: readonly string[];
}

async function open({ config, modules, tasksFiles }: WorkerSetup) {
  const judge = recordJudge(config, await loadPlugins(modules), taskIndex(await readTasks(tasksFiles)));
  return { judge: (lines: readonly string[]) => judgeBatch(judge, lines) };
}

export type DistillCalls = Awaited<ReturnType<typeof open>>;

answerCalls(open(workerData as WorkerSetup));
