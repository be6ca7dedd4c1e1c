/**
 * Reads JSONL one record at a time, so that a file may be larger than memory. A line that can't be read is never a
 * riddle: the error names file, line and what was expected. A torn last line (a crash in the middle of an append) is not
 * an error at all: it was never acknowledged, so readers pass over it and say so.
 */
import { createReadStream } from "node:fs";
import type { z } from "zod";
import { CoaError } from "../../core/errors.ts";

export interface BadLine {
  file: string;
  line: number;
  /** `torn`: the last line, without its end. `syntax`: not JSON. `schema`: JSON of another shape or version. */
  kind: "torn" | "syntax" | "schema";
  message: string;
}

export interface ReadOptions {
  /** What to do with a bad line: stop with an error, or be told and go on (default: `readDefaults`). */
  onBad?: "throw" | ((bad: BadLine) => void);
  /** Told of a torn last line; by default it is passed over in silence. */
  onTorn?: (bad: BadLine) => void;
  signal?: AbortSignal;
}

/** What readers do with a bad line unless they are told: the command line changes it for `--skip-bad`. */
export const readDefaults: { onBad: "throw" | ((bad: BadLine) => void) } = { onBad: "throw" };

const maxLineBytes = 256 * 1024 * 1024;

/** Streams the records of a file; a missing file has none. */
export async function* readJsonl<T = unknown>(
  file: string,
  schema?: z.ZodType<T>,
  options: ReadOptions = {},
): AsyncGenerator<T> {
  let line = 0;
  for await (const { text, complete } of lines(file, options.signal)) {
    line++;
    if (text.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      const bad: BadLine = complete
        ? { file, line, kind: "syntax", message: `not JSON: ${(error as Error).message}` }
        : { file, line, kind: "torn", message: `the last line is cut off after ${text.length} characters` };
      if (bad.kind === "torn") options.onTorn?.(bad);
      else handle(bad, options);
      continue;
    }
    if (!schema) {
      yield value as T;
      continue;
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) yield parsed.data;
    else handle({ file, line, kind: "schema", message: explain(value, parsed.error.issues) }, options);
  }
}

/** All records at once, for files known to be small. */
export async function readAllJsonl<T = unknown>(
  file: string,
  schema?: z.ZodType<T>,
  options?: ReadOptions,
): Promise<T[]> {
  return Array.fromAsync(readJsonl(file, schema, options));
}

function handle(bad: BadLine, options: ReadOptions): void {
  const onBad = options.onBad ?? readDefaults.onBad;
  if (typeof onBad === "function") {
    onBad(bad);
    return;
  }
  throw new CoaError(
    "storage",
    `${bad.file}:${bad.line}: ${bad.message}. Mend the line, or pass --skip-bad to go on without it.`,
  );
}

function explain(value: unknown, issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const version = (value as { version?: unknown } | null)?.version;
  const versionIssue = issues.find((issue) => issue.path[0] === "version");
  if (versionIssue && version !== undefined) {
    return `unknown version ${JSON.stringify(version)} (${versionIssue.message}): written by another release of chain-of-agents`;
  }
  const shown = issues.slice(0, 3).map((issue) => `${issue.path.join(".") || "record"}: ${issue.message}`);
  return `not what was expected: ${shown.join("; ")}`;
}

/** Splits a file at newlines without ever holding more than one line; `complete` says whether its newline was there. */
async function* lines(file: string, signal?: AbortSignal): AsyncGenerator<{ text: string; complete: boolean }> {
  const stream = createReadStream(file, { highWaterMark: 1 << 18, signal });
  const parts: Buffer[] = [];
  let held = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        parts.push(chunk.subarray(from, end));
        yield { text: Buffer.concat(parts).toString("utf8"), complete: true };
        parts.length = 0;
        held = 0;
        from = end + 1;
      }
      if (from < chunk.length) {
        parts.push(chunk.subarray(from));
        held += chunk.length - from;
        if (held > maxLineBytes) throw new CoaError("storage", `${file}: a line is longer than ${maxLineBytes} bytes`);
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  if (parts.length > 0) yield { text: Buffer.concat(parts).toString("utf8"), complete: false };
}
