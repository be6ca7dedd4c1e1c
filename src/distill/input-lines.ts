/** The lines of a distillation's input, from one file after the other. */
import { fileLines, type Line } from "../base/files/lines.ts";
import { CoaError, messageOf } from "../core/errors.ts";

/** Streams all lines that are not empty. */
export async function* inputLines(files: readonly string[], signal?: AbortSignal): AsyncGenerator<Line> {
  for (const file of files) {
    try {
      for await (const line of fileLines(file, { signal })) if (line.text.trim() !== "") yield line;
    } catch (error) {
      if (signal?.aborted || error instanceof CoaError) throw error;
      throw new CoaError("storage", `can't read ${file}: ${messageOf(error)}`, { cause: error });
    }
  }
}
