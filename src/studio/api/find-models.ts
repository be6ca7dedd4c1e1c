/** Folders below what was opened that hold a model or a tokenizer. */
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { fitsTokenizer } from "../../dataset/read-tokens.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";

const notModels = (name: string) => name === "node_modules" || name === "checkpoints" || name === "cache";

/** Folders with a file of that name, relative to the root. */
function foldersWith(root: string, file: string): string[] {
  return globSync(`**/${file}`, { cwd: root, exclude: notModels })
    .map((path) => dirname(path))
    .sort();
}

/** Model folders (Hugging Face layout). */
export function findModels(root: string): string[] {
  const weights = new Set(foldersWith(root, "*.safetensors"));
  return foldersWith(root, "config.json").filter((folder) => weights.has(folder));
}

const loaded = new Map<string, Promise<Tokenizer>>();

function tokenizerIn(folder: string): Promise<Tokenizer> {
  let tokenizer = loaded.get(folder);
  if (!tokenizer) loaded.set(folder, (tokenizer = loadTokenizer(folder)));
  return tokenizer;
}

/** The tokenizer that a chain's ids were written with, or any that can encode it where it has no ids. */
export async function findTokenizer(
  root: string,
  chain: Trajectory,
  preferred?: string,
): Promise<{ tokenizer: Tokenizer; folder: string } | undefined> {
  const folders = foldersWith(root, "tokenizer.json");
  if (preferred !== undefined)
    folders.sort((a, b) => Number(b.startsWith(preferred)) - Number(a.startsWith(preferred)));
  for (const folder of folders) {
    const tokenizer = await tokenizerIn(join(root, folder)).catch(() => undefined);
    if (tokenizer && fitsTokenizer(chain, tokenizer)) return { tokenizer, folder };
  }
  return undefined;
}
