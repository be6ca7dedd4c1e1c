/**
 * A folder is written beside its final place and renamed into it. Where an older one stands, it steps aside first, under
 * a known name; a process killed between the two renames leaves that name behind, and readers look there.
 */
import { randomUUID } from "node:crypto";
import { access, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const asideName = (folder: string) => `${folder}.previous`;

/** Fills a new folder with `write` and puts it in place of `folder`, all or nothing. */
export async function replaceFolder(folder: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const target = resolve(folder);
  await mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.${randomUUID().slice(0, 8)}.tmp`;
  await mkdir(temporary);
  try {
    await write(temporary);
    for (const name of await readdir(temporary)) await syncPath(join(temporary, name));
    await syncPath(temporary);
    if (await exists(target)) {
      await rm(asideName(target), { recursive: true, force: true });
      await rename(target, asideName(target));
    }
    await rename(temporary, target);
    await syncPath(dirname(target));
    await rm(asideName(target), { recursive: true, force: true });
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(target)) && (await exists(asideName(target)))) await rename(asideName(target), target);
    throw error;
  }
}

/** Where a folder's content is: itself, or what an interrupted replacement put aside. */
export async function currentFolder(folder: string): Promise<string> {
  if (!(await exists(folder)) && (await exists(asideName(resolve(folder))))) return asideName(resolve(folder));
  return folder;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Flushes a file or folder; systems that can't open a folder need no such step. */
async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
