/** Files: JSONL, manifests, the workspace. Every export is named here, one by one; what is not here is not public. */

export { chainRecordSchema } from "../../core/chain-record.ts";
export { teamRunSchema } from "../../core/team-run.ts";
export type { Resume } from "./claim-folder.ts";
export { jsonlJournal } from "./open-jsonl.ts";
export { type BadLine, type ReadOptions, readAllJsonl } from "./read-jsonl.ts";
