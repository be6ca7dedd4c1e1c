/** The lines of files, one by one, without holding more than one: split at newlines only, whatever else a text contains. */
import { createReadStream } from "node:fs";
import { CoaError, messageOf } from "../core/errors.ts";

export interface InputLine {
  file: string;
  /** Counted from 1. */
  line: number;
  text: string;
}

/** Streams all lines that are not empty. */
export async function* inputLines(files: readonly string[], signal?: AbortSignal): AsyncGenerator<InputLine> {
  for (const file of files) {
    let line = 0;
    const parts: Buffer[] = [];
    try {
      for await (const chunk of createReadStream(file, { highWaterMark: 1 << 18, signal }) as AsyncIterable<Buffer>) {
        let from = 0;
        for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
          parts.push(chunk.subarray(from, end));
          line++;
          const text = Buffer.concat(parts).toString("utf8");
          if (text.trim() !== "") yield { file, line, text };
          parts.length = 0;
          from = end + 1;
        }
        if (from < chunk.length) parts.push(chunk.subarray(from));
      }
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new CoaError("storage", `can't read ${file}: ${messageOf(error)}`, { cause: error });
    }
    const text = Buffer.concat(parts).toString("utf8");
    if (text.trim() !== "") yield { file, line: line + 1, text };
  }
}
