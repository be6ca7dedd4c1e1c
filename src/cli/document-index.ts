/** Where the index of a person's own documents is kept: `--docs` of every command finds what `coa index build` made. */

import { basename, extname, resolve } from "node:path";
import { openWorkspace } from "../base/files/workspace.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { isIndexOf, isIndexOfOthers } from "../tools/local-index/index-corpus.ts";
import { collectionName } from "../tools/local-index/read-corpus.ts";

/** In the workspace under the name of the folder or file, or at a place of its own where other documents have that name. */
export async function documentIndexFolder(path: string): Promise<string> {
  const workspace = await openWorkspace();
  const named = workspace.path("index", basename(resolve(path), extname(path)));
  if ((await isIndexOf(named, path)) || !(await isIndexOfOthers(named, path))) return named;
  return workspace.path("index", `${collectionName(path)}-${fingerprint(resolve(path))}`);
}
