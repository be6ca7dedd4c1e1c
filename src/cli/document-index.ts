/** Where the index of a person's own documents is kept: `--docs` of every command finds what `coa index build` made. */

import { basename, extname, resolve } from "node:path";
import { openWorkspace } from "../base/files/workspace.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { isIndexOf } from "../tools/local-index/index-corpus.ts";
import { collectionName } from "../tools/local-index/read-corpus.ts";

/** Where `coa index build` puts it: in the workspace, under the name of the folder or file. */
export async function builtIndexFolder(path: string): Promise<string> {
  return (await openWorkspace()).path("index", basename(resolve(path), extname(path)));
}

/** The index of these documents that is there, or a place that no other collection of the same name has. */
export async function documentIndexFolder(path: string): Promise<string> {
  const built = await builtIndexFolder(path);
  if (await isIndexOf(built, path)) return built;
  const name = `${collectionName(path)}-${fingerprint(resolve(path))}`;
  return (await openWorkspace()).path("index", name);
}
