/** The `.coa/` folder: where every stage keeps what it made. Runs, datasets, models and evaluations each have their place. */
import { readFileSync, realpathSync } from "node:fs";
import { statfs, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "./make-folder.ts";
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
