/** The `.coa/` folder: where every stage keeps what it made. Runs, datasets, models and evaluations each have their place. */
import { existsSync, realpathSync } from "node:fs";
import { statfs, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join, relative, resolve } from "node:path";
import { fingerprint } from "../../core/fingerprint.ts";
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

/**
 * Where it is written down that `coa init` made the current folder a workspace. Never inside that folder: a download could bring
 * such a mark along. So it is in `COA_HOME`, or, where that is below the current folder, with the user.
 */
function markFile(): string {
  const [here, root] = [realpathSync("."), workspaceRoot()];
  const way = relative(here, root);
  const isOutside = way.startsWith("..") || isAbsolute(way);
  const state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local", "state");
  return join(isOutside ? root : join(state, "chain-of-agents"), "workspaces", fingerprint(here));
}

/** Whether `coa init` made the current folder a workspace, whose configuration and `.env` may be read. */
export function isInitialised(): boolean {
  return existsSync(markFile());
}

/** Marks the current folder as a workspace. */
export async function markInitialised(): Promise<void> {
  await writeFileAtomically(markFile(), `${realpathSync(".")}\n`);
}
