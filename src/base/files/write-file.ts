/** A file is either the old one or the whole new one, whatever happens while it is written. */
import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CoaError, messageOf } from "../../core/errors.ts";
import { type Disk, nodeDisk, ownerOnly, syncPath, writeAll } from "./disk.ts";
import { makeFolder } from "./make-folder.ts";

/** Writes through a temporary sibling, flushes it to the disk, and renames it into place; text is its owner's alone, weights are not. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array | AsyncIterable<string> | ((file: FileHandle) => Promise<void>),
  disk: Disk = nodeDisk,
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID().slice(0, 8)}.tmp`);
  try {
    await makeFolder(dirname(path), disk);
    const file = await disk.open(temporary, "wx", typeof content === "function" ? undefined : ownerOnly);
    try {
      if (typeof content === "function") await content(file);
      else if (typeof content === "string" || content instanceof Uint8Array) await writeAll(file, bytesOf(content));
      else for await (const piece of content) await writeAll(file, bytesOf(piece));
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(temporary, path);
    await syncPath(disk, dirname(path));
  } catch (error) {
    await disk.rm(temporary, { force: true }).catch(() => {});
    if (error instanceof CoaError || (error as Error).name === "AbortError") throw error;
    throw new CoaError("storage", `could not write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

export function writeJson(path: string, value: unknown, disk: Disk = nodeDisk): Promise<void> {
  return writeFileAtomically(path, `${JSON.stringify(value, null, 2)}\n`, disk);
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
