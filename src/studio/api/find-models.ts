/** Folders below what was opened that hold a model or a tokenizer. */
import { globSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { modelFolders } from "../../base/files/model-folders.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { fitsTokenizer } from "../../dataset/read-tokens.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import type { StudioContext } from "./reader.ts";

const notModels = (name: string) => name === "node_modules" || name === "checkpoints" || name === "cache";

/** What was opened, and the folder that names are relative to; nothing else below that folder is looked at. */
type Opened = Pick<StudioContext, "root" | "paths">;

/** Folders in what was opened; a file stands for the folder it is in. */
function openedFolders(paths: readonly string[]): string[] {
  return paths.map((path) => (statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)));
}

export function findModels({ root, paths }: Opened): string[] {
  const folders = openedFolders(paths).flatMap((folder) => modelFolders(folder));
  return [...new Set(folders.map((folder) => relative(root, folder)))].sort();
}

function tokenizerFolders({ root, paths }: Opened): string[] {
  const folders = openedFolders(paths).flatMap((cwd) =>
    globSync("**/tokenizer.json", { cwd, exclude: notModels }).map((found) =>
      relative(root, dirname(join(cwd, found))),
    ),
  );
  return [...new Set(folders)].sort();
}

const loaded = new Map<string, Promise<Tokenizer>>();

function tokenizerIn(folder: string): Promise<Tokenizer> {
  let tokenizer = loaded.get(folder);
  if (!tokenizer) loaded.set(folder, (tokenizer = loadTokenizer(folder)));
  return tokenizer;
}

/** The tokenizer that a chain's ids were written with, or any that can encode it where it has no ids. */
export async function findTokenizer(
  opened: Opened,
  chain: Trajectory,
  preferred?: string,
): Promise<{ tokenizer: Tokenizer; folder: string } | undefined> {
  const folders = tokenizerFolders(opened);
  if (preferred !== undefined)
    folders.sort((a, b) => Number(b.startsWith(preferred)) - Number(a.startsWith(preferred)));
  for (const folder of folders) {
    const tokenizer = await tokenizerIn(join(opened.root, folder)).catch(() => undefined);
    if (tokenizer && fitsTokenizer(chain, tokenizer)) return { tokenizer, folder };
  }
  return undefined;
}
