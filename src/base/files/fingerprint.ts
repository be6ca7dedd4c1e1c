/** Identifies content by the hash of a file, for manifests and lineage. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
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
