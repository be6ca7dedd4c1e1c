/** Recording any multi-agent system. Every export is named here, one by one; what is not here is not public. */
export { type ImportOptions, importFiles } from "./import-file.ts";
export { type ProxyOptions, type RecordingProxy, startProxy } from "./proxy/start-proxy.ts";
export { readRecordings } from "./recordings.ts";
export { type RunSummary, runTree, summariseRun } from "./run-summary.ts";
export { refusedForTraining } from "./trainable.ts";
