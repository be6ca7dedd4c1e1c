/**
 * Reads JSONL one record at a time, so that a file may be larger than memory. For a line that can't be read, the error
 * names file, line and what was expected. A torn line (a crash or a full disk in the middle of an append) is not an
 * error: it was never confirmed as written, so readers skip it and say so.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import type { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import { fileLines, type Line } from "./lines.ts";

export interface BadLine {
  file: string;
  line: number;
  /** `torn`: a line without its end. `syntax`: not JSON. `schema`: JSON of another shape or version. */
  kind: "torn" | "syntax" | "schema";
  message: string;
}

export interface ReadOptions {
  /** What to do with a bad line: stop with an error (default), or be told and skip it. */
  onBad?: "throw" | ((bad: BadLine) => void);
  /** Called for a torn line; by default the last one is skipped silently, any other is a process warning. */
  onTorn?: (bad: BadLine) => void;
  signal?: AbortSignal;
}

const scope = new AsyncLocalStorage<ReadOptions>();

/** Runs work whose readers take these options where they are not given their own: one command, not the whole process. */
export function readingWith<T>(options: ReadOptions, work: () => T): T {
  return scope.run(options, work);
}

/** A record and the line that it is. */
export type JsonLine<T> = Omit<Line, "text"> & { value: T };

/** Streams the records of a file; a missing file has none. */
export async function* readJsonl<T = unknown>(
  file: string,
  schema?: z.ZodType<T>,
  options: ReadOptions = {},
): AsyncGenerator<T> {
  for await (const { value } of readJsonLines(file, schema, options)) yield value;
}

/** The same with the place of each record, from a place on. */
export async function* readJsonLines<T = unknown>(
  file: string,
  schema?: z.ZodType<T>,
  options: ReadOptions & { from?: { offset: number; line: number } } = {},
): AsyncGenerator<JsonLine<T>> {
  const settings = { ...scope.getStore(), ...options };
  for await (const { text: raw, ...place } of linesIfAny(file, settings)) {
    const { line, complete } = place;
    const text = line === 1 && raw.startsWith("\uFEFF") ? raw.slice(1) : raw;
    // A UTF-16 byte order mark is not valid UTF-8: both of its bytes come out as the replacement character.
    if (line === 1 && raw.startsWith("\uFFFD\uFFFD")) {
      throw new CoaError("storage", `${file} is written in UTF-16; save it as UTF-8 (a byte order mark may stay)`);
    }
    if (text.trim() === "") continue;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      const { message } = error as Error;
      if (complete && !isCutOff(text, message)) {
        tellBadLine({ file, line, kind: "syntax", message: `not JSON: ${message}` }, settings);
        continue;
      }
      const bad: BadLine = { file, line, kind: "torn", message: `the line is cut off after ${text.length} characters` };
      if (settings.onTorn) settings.onTorn(bad);
      else if (complete) process.emitWarning(printable(`skipped ${file}:${line}: ${bad.message}`));
      continue;
    }
    if (!schema) {
      if (value !== null && typeof value === "object") yield { ...place, value: value as T };
      else
        tellBadLine(
          { file, line, kind: "schema", message: `a record is an object, not ${text.trim().slice(0, 40)}` },
          settings,
        );
      continue;
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) yield { ...place, value: parsed.data };
    else tellBadLine({ file, line, kind: "schema", message: explain(value, parsed.error.issues) }, settings);
  }
}

async function* linesIfAny(file: string, options: Parameters<typeof fileLines>[1]): AsyncGenerator<Line> {
  try {
    yield* fileLines(file, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
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

/** Whether a text is the beginning of a JSON object or array: a write that broke off, not a mistake in the file. */
function isCutOff(text: string, message: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  const at = Number(/at position (\d+)/.exec(message)?.[1] ?? -1);
  return /end of JSON input|Unterminated string/.test(message) || at >= text.trimEnd().length;
}

/** Stops at a bad line, or tells it, as the options or the scope of the command have it. */
export function tellBadLine(bad: BadLine, options: ReadOptions): void {
  const { onBad = "throw" } = { ...scope.getStore(), ...options };
  if (typeof onBad === "function") {
    onBad(bad);
    return;
  }
  throw new CoaError("storage", `${bad.file}:${bad.line}: ${bad.message}. Fix the line, or skip it`, {
    hint: { option: "onBad", flag: "skip-bad", purpose: "to read on without such lines" },
    code: "bad-line",
  });
}

function explain(value: unknown, issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const version = (value as { version?: unknown } | null)?.version;
  const versionIssue = issues.find((issue) => issue.path[0] === "version");
  if (versionIssue && version !== undefined) {
    return `unknown version ${JSON.stringify(version)} (${versionIssue.message}): written by another release of chain-of-agents`;
  }
  if (value === null || typeof value !== "object") {
    return `a record is an object, not ${JSON.stringify(value).slice(0, 40)}`;
  }
  const shown = issues.slice(0, 3).map((issue) => `${issue.path.join(".") || "record"}: ${issue.message}`);
  return `not what was expected: ${shown.join("; ")}`;
}
