/** The lines of bytes that come in blocks: cut at newlines only, whatever else a text contains, and no more than one held. */
import { createReadStream } from "node:fs";
import { budgets } from "../../core/budget.ts";
import { CoaError } from "../../core/errors.ts";

export function lineCutter() {
  const parts: Buffer[] = [];
  let held = 0;
  return {
    /** Bytes of the rest. */
    get held() {
      return held;
    },
    /** What has come since the last newline. */
    rest: () => Buffer.concat(parts),
    /** The lines that this block ends; it may be overwritten once they are taken. */
    *cut(block: Buffer) {
      let from = 0;
      for (let end = block.indexOf(10); end >= 0; end = block.indexOf(10, from)) {
        const last = block.subarray(from, end);
        const line = held === 0 ? last : Buffer.concat([...parts.splice(0), last]);
        held = 0;
        from = end + 1;
        yield line;
      }
      if (from === block.length) return;
      parts.push(Buffer.from(block.subarray(from)));
      held += block.length - from;
    },
  };
}

/** One line of a file or stream. */
export interface Line {
  file: string;
  /** Counted from 1. */
  line: number;
  text: string;
  /** Where it begins, in bytes. */
  offset: number;
  /** Its bytes without the newline. */
  length: number;
  complete: boolean;
}

/** Streams the lines of a file, or of a stream under that name. */
export async function* fileLines(
  file: string,
  options: { signal?: AbortSignal; stream?: AsyncIterable<Buffer>; from?: { offset: number; line: number } } = {},
): AsyncGenerator<Line> {
  let { offset, line } = options.from ?? { offset: 0, line: 0 };
  const { signal, stream = createReadStream(file, { highWaterMark: 1 << 18, signal, start: offset }) } = options;
  const cutter = lineCutter();
  for await (const block of stream as AsyncIterable<Buffer>) {
    for (const bytes of cutter.cut(block)) {
      yield { file, line: ++line, text: bytes.toString("utf8"), offset, length: bytes.length, complete: true };
      offset += bytes.length + 1;
    }
    if (cutter.held > budgets.line.bytes)
      throw new CoaError("storage", `${file}: a line is longer than ${budgets.line.bytes} bytes`);
  }
  const length = cutter.held;
  if (length > 0) yield { file, line: ++line, text: cutter.rest().toString("utf8"), offset, length, complete: false };
}
