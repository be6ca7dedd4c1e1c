/** Files: JSONL, manifests, the workspace. Every export is named here, one by one; what is not here is not public. */

export type { Resume } from "./claim-folder.ts";
export { jsonlJournal } from "./open-jsonl.ts";
export { type BadLine, type ReadOptions, readAllJsonl } from "./read-jsonl.ts";
