/** Identifies content, for manifests and lineage: a file by its hash, a folder by the state of its files. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../core/errors.ts";

/** SHA-256 of a file, read once from its beginning to its end. */
export async function fileFingerprint(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw new UsageError(`there is no file ${path}`);
    throw error;
  }
  return hash.digest("hex");
}

/** Of names, sizes and times of files in a folder (all of them, or those named): another one when one of them changed. */
export async function folderState(folder: string, names?: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const name of names ?? (await readdir(folder, { recursive: true })).sort()) {
    const file = await stat(join(folder, name)).catch(() => undefined);
    if (file?.isFile()) hash.update(`${name}\0${file.size}\0${file.mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 32);
}
