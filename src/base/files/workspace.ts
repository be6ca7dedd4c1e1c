/** The `.coa/` folder: where every stage keeps what it made. Runs, datasets, models and evaluations each have their place. */
import { readFileSync, realpathSync } from "node:fs";
import { readdir, statfs, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { type WorkState, workState } from "./claim-folder.ts";
import { makeFolder } from "./make-folder.ts";
import { type Manifest, manifestName, readManifest, readManifestFile } from "./manifest.ts";
import { writeFileAtomically } from "./write-file.ts";

/** Where the workspace is, made or not: `COA_HOME`, or `.coa` here. */
export function workspaceRoot(): string {
  return resolve(process.env["COA_HOME"] ?? ".coa");
}

export async function openWorkspace(root = workspaceRoot()) {
  const absolute = resolve(root);
  await makeFolder(absolute);
  // A workspace is never part of anyone's repository.
  await writeFile(join(absolute, ".gitignore"), "*\n", { flag: "wx" }).catch(() => {});
  const path = (...parts: string[]) => join(absolute, ...parts);
  return {
    root: absolute,
    path,
    async folder(...parts: string[]) {
      const folder = path(...parts);
      await makeFolder(folder);
      return folder;
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(absolute);
      return bavail * bsize;
    },
  };
}

const markName = "workspace.json";

/**
 * The folders that `coa init` made workspaces, as the mark in `.coa/` lists them. The mark names them by their full
 * paths, so that a downloaded folder with a `.coa/` of its own is not taken for one.
 */
function initialisedFolders(root: string): string[] {
  try {
    const { folders } = JSON.parse(readFileSync(join(root, markName), "utf8")) as { folders?: unknown };
    return Array.isArray(folders) ? folders.map(String) : [];
  } catch {
    return [];
  }
}

/** Whether `coa init` made the current folder a workspace, whose configuration and `.env` may be read. */
export function isInitialised(): boolean {
  return initialisedFolders(workspaceRoot()).includes(realpathSync("."));
}

/** Marks the current folder as a workspace. */
export async function markInitialised(): Promise<void> {
  const root = workspaceRoot();
  const folders = [...new Set([...initialisedFolders(root), realpathSync(".")])];
  await writeFileAtomically(join(root, markName), `${JSON.stringify({ version: 1, folders }, null, 2)}\n`);
}

/** A folder or file that a stage left, or one whose manifest can't be read, with the reason. */
export type WorkspaceEntry = { path: string } & ({ manifest: Manifest; state: WorkState } | { problem: string });

const maxDepth = 6;

/** Everything that stages left under a folder, in the order of their making; a folder inside another is listed too. */
export async function listWorkspace(root: string): Promise<WorkspaceEntry[]> {
  const found: WorkspaceEntry[] = [];
  async function add(path: string, read: Promise<Manifest | undefined>): Promise<void> {
    try {
      const manifest = (await read)!;
      found.push({ path, manifest, state: await workState(join(root, path), manifest.progress) });
    } catch (error) {
      found.push({ path, problem: messageOf(error) });
    }
  }
  async function visit(folder: string, depth: number): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    if (entries.some((entry) => entry.name === manifestName)) {
      await add(relative(root, folder) || ".", readManifest(folder));
    }
    for (const { name } of entries) {
      if (!name.endsWith(`.${manifestName}`)) continue;
      const path = relative(root, join(folder, name.slice(0, -manifestName.length - 1)));
      await add(`${path}.jsonl`, readManifestFile(join(folder, name)));
    }
    if (depth === maxDepth) return;
    for (const entry of entries) {
      if (entry.isDirectory() && !entry.name.startsWith(".")) await visit(join(folder, entry.name), depth + 1);
    }
  }
  await visit(resolve(root), 0);
  const made = (entry: WorkspaceEntry) => ("manifest" in entry ? entry.manifest.createdAt : "");
  return found.sort((a, b) => made(a).localeCompare(made(b)) || a.path.localeCompare(b.path));
}
