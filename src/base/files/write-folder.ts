/**
 * Writes a folder all or nothing: contents go to a sibling that is flushed and renamed into place. An older one is
 * first renamed to a known name; a kill or power cut between the two renames leaves that name behind, readers look
 * there (`currentFolder`), and the next writer puts it back.
 */
import { randomUUID } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { type Disk, exists, nodeDisk, syncPath } from "./disk.ts";
import { makeFolder } from "./make-folder.ts";

const asideName = (path: string) => join(dirname(path), `.${basename(path)}.previous`);

/** Calls `fill` with a temporary folder and moves it to `path` when it is complete. */
export async function writeFolder(
  path: string,
  fill: (temporary: string) => Promise<void>,
  disk: Disk = nodeDisk,
): Promise<void> {
  const target = resolve(path);
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID().slice(0, 8)}.tmp`);
  await makeFolder(temporary, disk);
  try {
    await fill(temporary);
    await putFolder(temporary, target, disk);
  } finally {
    await disk.rm(temporary, { recursive: true, force: true }).catch(() => {});
  }
}

/** Puts a finished folder in place of another (or of none), all or nothing. */
export async function putFolder(temporary: string, path: string, disk: Disk = nodeDisk): Promise<void> {
  const target = resolve(path);
  const parent = dirname(target);
  const aside = asideName(target);
  await makeFolder(parent, disk);
  if (!(await exists(disk, target)) && (await exists(disk, aside))) await disk.rename(aside, target);
  await syncTree(disk, temporary);
  try {
    if (await exists(disk, target)) {
      await disk.rm(aside, { recursive: true, force: true });
      await disk.rename(target, aside);
      await syncPath(disk, parent); // on the disk in this order: a power cut leaves one of the two names
    }
    await disk.rename(temporary, target);
    await syncPath(disk, parent);
    await disk.rm(aside, { recursive: true, force: true });
  } catch (error) {
    if (!(await exists(disk, target)) && (await exists(disk, aside))) await disk.rename(aside, target);
    throw error;
  }
}

/** Where a folder's content is: itself, or what an interrupted replacement put aside. Changes nothing. */
export async function currentFolder(path: string): Promise<string> {
  const aside = asideName(resolve(path));
  return !(await exists(nodeDisk, path)) && (await exists(nodeDisk, aside)) ? aside : path;
}

/** Names of the folders in `parent`, those that are put aside included. */
export async function folderNames(parent: string): Promise<string[]> {
  const names = (await nodeDisk.readdir(parent)).map((name) => name.replace(/^\.(.+)\.previous$/, "$1"));
  return [...new Set(names.filter((name) => !name.startsWith(".")))].sort();
}

async function syncTree(disk: Disk, folder: string): Promise<void> {
  for (const entry of await disk.readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(disk, path);
    else if (entry.isFile()) await syncPath(disk, path);
  }
  await syncPath(disk, folder);
}
