/**
 * Which folder is a model: the Hugging Face layout, a `config.json` beside weights. A folder with the configuration alone
 * describes a model that runs elsewhere.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Whether a folder has a model's configuration; its weights may be elsewhere. */
export function describesModel(folder: string): boolean {
  return existsSync(join(folder, "config.json"));
}

/** Whether a folder is a model that can be loaded: configuration and weights. */
export function isModelFolder(folder: string): boolean {
  return describesModel(folder) && readdirSync(folder).some((name) => name.endsWith(".safetensors"));
}

const skipped = new Set(["node_modules", "checkpoints", "cache"]);
const maxDepth = 8;

/** The models at or below a folder, as paths, in order; what is below a model is part of it. */
export function modelFolders(folder: string, depth = 0): string[] {
  if (!existsSync(folder)) return [];
  if (isModelFolder(folder)) return [folder];
  if (depth === maxDepth) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !skipped.has(entry.name))
    .flatMap((entry) => modelFolders(join(folder, entry.name), depth + 1))
    .sort();
}
