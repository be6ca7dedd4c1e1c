/**
 * Makes a folder and those above it. Node's own `mkdir` with `recursive` never returns where the system says of a folder
 * that its parent is missing although it is there, as below /proc; this one stops with the error.
 */
import { dirname, resolve } from "node:path";
import { type Disk, nodeDisk } from "./disk.ts";

/** Makes the folder unless it is there. */
export async function makeFolder(path: string, disk: Pick<Disk, "mkdir" | "stat"> = nodeDisk): Promise<void> {
  const folder = resolve(path);
  try {
    await disk.mkdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isFolder = async (one: string) => (await disk.stat(one).catch(() => undefined))?.isDirectory() === true;
    // Some systems refuse (EROFS, EACCES) before they look whether it is there.
    if (await isFolder(folder)) return;
    const parent = dirname(folder);
    if (code !== "ENOENT" || parent === folder) throw error;
    await makeFolder(parent, disk);
    // Once: where it is refused again although its parent is there, it can't be made.
    await disk.mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again;
    });
  }
}
