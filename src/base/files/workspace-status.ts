/** What a workspace holds: each stage's work with its size, what it was made from, and whether that has changed since. */
import { readdir, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { WorkState } from "./claim-folder.ts";
import { fileFingerprint } from "./fingerprint.ts";
import { listWorkspace, type WorkspaceEntry } from "./list-workspace.ts";
import { type Lineage, type ManifestKind, type ManifestProgress, readManifest } from "./manifest.ts";

export interface StatusEntry {
  path: string;
  bytes: number;
  kind?: ManifestKind;
  createdAt?: string;
  progress?: ManifestProgress;
  /** Work whose process was killed is `stopped`, whatever its manifest says. */
  state?: WorkState;
  inputs: { role: string; path?: string; records?: number }[];
  /** What of it has changed or is gone; empty where it is up to date. */
  stale: string[];
  problem?: string;
}

export async function workspaceStatus(root: string): Promise<StatusEntry[]> {
  return Promise.all((await listWorkspace(root)).map((entry) => statusOf(root, entry)));
}

async function statusOf(root: string, entry: WorkspaceEntry): Promise<StatusEntry> {
  const base = { path: entry.path, bytes: await bytesOf(join(root, entry.path)) };
  if ("problem" in entry) return { ...base, inputs: [], stale: [], problem: entry.problem };
  const { kind, createdAt, progress, inputs } = entry.manifest;
  const stale = (await Promise.all(inputs.map(changeOf))).flatMap((change) => change ?? []);
  const shown = inputs.map(({ role, path, records }) => ({
    role,
    ...(path !== undefined && { path: shortPath(root, path) }),
    ...(records !== undefined && { records }),
  }));
  return { ...base, kind, createdAt, progress, state: entry.state, inputs: shown, stale };
}

/** How an input differs from what the work was made of; undefined where it does not, or where that can't be known. */
async function changeOf({ role, path, fingerprint }: Lineage): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const found = await stat(path).catch(() => undefined);
  if (!found) return `its ${role} are gone: ${path}`;
  if (fingerprint === undefined) return undefined;
  const now = found.isDirectory() ? (await readManifest(path))?.fingerprint : await fileFingerprint(path);
  return now === undefined || now === fingerprint ? undefined : `its ${role} have changed: ${path}`;
}

function shortPath(root: string, path: string): string {
  const inside = relative(root, resolve(path));
  return isAbsolute(path) && !inside.startsWith("..") ? inside : path;
}

/** Bytes of a file, or of all files below a folder; 0 where there is nothing. */
export async function bytesOf(path: string): Promise<number> {
  const about = await stat(path).catch(() => undefined);
  if (!about?.isDirectory()) return about?.size ?? 0;
  let sum = 0;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []))
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0;
  return sum;
}
