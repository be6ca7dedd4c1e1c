import { access } from "node:fs/promises";
import { UsageError } from "../../core/errors.ts";

/** The files themselves, once it is sure that they are there: a mistyped name must not look like an empty file. */
export async function existingFiles(files: readonly string[]): Promise<readonly string[]> {
  for (const file of files) {
    await access(file).catch(() => {
      throw new UsageError(`there is no file ${file}`);
    });
  }
  return files;
}
