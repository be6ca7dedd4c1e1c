/**
 * What a workspace can do without: checkpoints of trainings that are finished, caches that fill themselves again, and what
 * interrupted writers left. Recordings, runs, datasets, models and evaluations are never among it.
 */
import { existsSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { listWorkspace } from "./list-workspace.ts";
import { bytesOf } from "./workspace-status.ts";

export interface Removable {
  path: string;
  bytes: number;
  what: "checkpoints" | "cache" | "left by an interrupted writer";
}

/** A writer that has not touched its folder for so long is gone. */
const abandonedMs = 24 * 3_600_000;

/** Finds what can be deleted; deletes nothing. */
export async function findRemovable(root: string, now: () => number = Date.now): Promise<Removable[]> {
  const found: Omit<Removable, "bytes">[] = [];
  for (const entry of await listWorkspace(root)) {
    if (!("manifest" in entry) || entry.manifest.kind !== "training" || entry.manifest.progress.state !== "done")
      continue;
    // What was trained may not have been written yet: then only the checkpoints have it.
    if (!["model", "adapter"].some((name) => existsSync(join(root, entry.path, name)))) continue;
    found.push({ path: join(root, entry.path, "checkpoints"), what: "checkpoints" });
  }
  found.push({ path: join(root, "cache"), what: "cache" });
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])) {
    const path = join(entry.parentPath, entry.name);
    if (!/^\..+\.[0-9a-f]{8}\.tmp$/.test(entry.name)) continue;
    const touched = (await stat(path).catch(() => undefined))?.mtimeMs ?? now();
    if (now() - touched > abandonedMs) found.push({ path, what: "left by an interrupted writer" });
  }
  const sized = await Promise.all(found.map(async (one) => ({ ...one, bytes: await bytesOf(one.path) })));
  return sized.filter(({ bytes }) => bytes > 0);
}

export async function removeAll(found: readonly Removable[]): Promise<void> {
  for (const { path } of found) await rm(path, { recursive: true, force: true });
}
