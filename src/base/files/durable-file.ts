/** The two promises that files make only when asked: data is on the disk, and a folder's new name is on the disk. */
import { open } from "node:fs/promises";

/** Flushes a folder's entries, so that a rename or a new file in it survives a power cut. No-op where unsupported. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
