/**
 * The file operations that the write paths are made of. They are node's own; a test passes a layer that fails on purpose
 * or that records every operation, to see what a full disk and a power cut leave behind.
 */
import * as files from "node:fs/promises";

/** What writers need of a file system. */
export type Disk = Pick<
  typeof files,
  "open" | "rename" | "rm" | "mkdir" | "readdir" | "access" | "link" | "readFile" | "unlink" | "stat"
>;

export const nodeDisk: Disk = files;

/** Records and state are as confidential as the traffic they hold: files of their owner alone. */
export const ownerOnly = 0o600;

/** Writes every byte: one `write` may take less than it was given. Without a position: at the file's current place. */
export async function writeAll(file: files.FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const length = Math.min(bytes.length - done, 1 << 30);
    const { bytesWritten } = await file.write(bytes, done, length, position === undefined ? null : position + done);
    done += bytesWritten;
  }
}

/** Flushes a file or a folder to the disk itself; a no-op for folders where the system knows no such thing. */
export async function syncPath(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EISDIR" || error.code === "EPERM" || error.code === "EACCES") return undefined; // Windows
    throw error;
  });
  if (!handle) return;
  try {
    await handle.sync();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EINVAL" && code !== "EPERM" && code !== "ENOTSUP") throw error; // systems without such a flush
  } finally {
    await handle.close();
  }
}

export function exists(disk: Disk, path: string): Promise<boolean> {
  return disk.access(path).then(
    () => true,
    () => false,
  );
}
