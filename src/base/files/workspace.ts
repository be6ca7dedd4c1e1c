/** The `.coa/` folder: where every stage keeps what it made. Runs, datasets, models and evaluations each have their place. */
import { mkdir, statfs, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

export interface Workspace {
  readonly root: string;
  /** A path inside the workspace. */
  path(...parts: string[]): string;
  /** The same, with the folder made. */
  folder(...parts: string[]): Promise<string>;
  freeBytes(): Promise<number>;
}

/** Where the workspace is, made or not: `COA_HOME`, or `.coa` here. */
export function workspaceRoot(): string {
  return resolve(process.env["COA_HOME"] ?? ".coa");
}

/** Opens (and makes) a workspace. */
export async function openWorkspace(root = workspaceRoot()): Promise<Workspace> {
  const absolute = resolve(root);
  await mkdir(absolute, { recursive: true });
  // A workspace is never part of anyone's repository.
  await writeFile(join(absolute, ".gitignore"), "*\n", { flag: "wx" }).catch(() => {});
  const path = (...parts: string[]) => join(absolute, ...parts);
  return {
    root: absolute,
    path,
    async folder(...parts) {
      const folder = path(...parts);
      await mkdir(folder, { recursive: true });
      return folder;
    },
    async freeBytes() {
      const { bavail, bsize } = await statfs(absolute);
      return bavail * bsize;
    },
  };
}
