/** Tasks from benchmark files and tables. Every export is named here, one by one; what is not here is not public. */
export { type LoadOptions, loadTasks } from "./benchmarks/load-tasks.ts";
