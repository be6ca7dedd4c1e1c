/** Tasks: benchmark files, generated ones, checks and selection. Every export is named here, one by one; what is not here is not public. */
export { type LoadOptions, loadBenchmark, loadTasks, type TaskSource } from "./benchmarks/load-tasks.ts";
export {
  type GenerateOptions,
  generateTasks,
  type Rejection,
  type SourceDocument,
  type Writer,
  type Written,
} from "./generate-tasks.ts";
export { type AnswerTask, type Decision, type SelectionOptions, selectTasks } from "./select-tasks.ts";
