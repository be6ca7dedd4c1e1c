/** Files: JSONL, manifests, the workspace. Every export is named here, one by one; what is not here is not public. */

export type { Resume } from "./claim-folder.ts";
export { type JsonlWriter, jsonlJournal, type OpenOptions, openJsonl } from "./open-jsonl.ts";
export { type BadLine, type ReadOptions, readAllJsonl, readJsonl } from "./read-jsonl.ts";
