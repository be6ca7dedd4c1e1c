/** Files: JSONL, manifests, the workspace. Every export is named here, one by one; what is not here is not public. */
export { jsonlJournal, openJsonl } from "./open-jsonl.ts";
export { readAllJsonl, readJsonl } from "./read-jsonl.ts";
export { openWorkspace, type Workspace } from "./workspace.ts";
export { writeFolder } from "./write-folder.ts";
