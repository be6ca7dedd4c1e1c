/** Tasks: benchmark files, generated ones, checks and selection. Every export is named here, one by one; what is not here is not public. */
export { type Benchmark, benchmarks } from "./benchmarks/benchmarks.ts";
export { type LoadOptions, loadBenchmark, loadTasks, type TaskSource } from "./benchmarks/load-tasks.ts";
export { type GenerateOptions, generateTasks, type Rejection, type SourceDocument } from "./generate-tasks.ts";
export {
  type RecordedTasks,
  type RecordedTasksOptions,
  recordedJudgePrompt,
  recordedScore,
  recordedTasks,
} from "./recorded-tasks.ts";
export { selectTasks } from "./select-tasks.ts";
