/**
 * Writes a folder all or nothing: contents go to a sibling that is flushed and renamed into place. A reader sees the old
 * folder or the new one, never half of either; a kill at any moment leaves the old one, or the new one, loadable.
 */
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncFolder } from "./durable-file.ts";

/** Calls `fill` with a temporary folder and moves it to `path` when it is complete. */
export async function writeFolder(path: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const parent = dirname(path);
  await mkdir(parent, { recursive: true });
  await recoverFolder(path);
  const temporary = join(parent, `.${basename(path)}.writing-${process.pid}-${Date.now().toString(36)}`);
  await mkdir(temporary);
  try {
    await fill(temporary);
    await syncTree(temporary);
    const old = join(parent, `.${basename(path)}.old`);
    await rm(old, { recursive: true, force: true });
    await rename(path, old).catch(ignoreMissing);
    await rename(temporary, path);
    await syncFolder(parent);
    await rm(old, { recursive: true, force: true });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Undoes what a kill between the two renames left: the old folder gets its name back. Readers call it before reading. */
export async function recoverFolder(path: string): Promise<void> {
  const old = join(dirname(path), `.${basename(path)}.old`);
  const exists = await readdir(path).then(
    () => true,
    () => false,
  );
  if (!exists) await rename(old, path).catch(ignoreMissing);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else if (entry.isFile()) {
      const handle = await open(path, "r+");
      await handle.sync();
      await handle.close();
    }
  }
  await syncFolder(folder);
}
