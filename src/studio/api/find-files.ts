/** Which JSONL files the studio looks at: the files that were named, and those below the folders that were named. */
import type { Dirent } from "node:fs";
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A file that exists, with what shows later whether it changed. */
export interface SeenFile {
  path: string;
  size: number;
  mtime: number;
}

const maxDepth = 8;
const maxFiles = 5_000;
const skippedFolders = new Set(["node_modules", "cache", "checkpoints"]);

/** Looks at the paths again; files that are gone or can't be read are left out. */
export function findFiles(paths: readonly string[]): SeenFile[] {
  const found = new Map<string, SeenFile>();
  const add = (path: string) => {
    if (found.size >= maxFiles) return;
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile()) found.set(path, { path, size: stat.size, mtime: stat.mtimeMs });
  };
  const visit = (folder: string, depth: number): void => {
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      return;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        const hidden = entry.name.startsWith(".") && entry.name !== ".coa";
        if (!hidden && depth < maxDepth && !skippedFolders.has(entry.name)) visit(path, depth + 1);
      } else if (entry.name.endsWith(".jsonl")) add(path);
    }
  };
  for (const path of paths) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) visit(path, 0);
    else add(path);
  }
  // A finished distillation has its chains twice: all that passed the filters, and those that were written out.
  return [...found.values()].filter(
    ({ path }) => basename(path) !== "kept.jsonl" || !found.has(join(dirname(path), "trajectories.jsonl")),
  );
}
