/** Reads files of other systems into team runs; the format is recognised by what the file holds, or named. */

import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createGunzip, gunzipSync } from "node:zlib";
import { callEncoder } from "../base/files/call-store.ts";
import { fileLines } from "../base/files/lines.ts";
import { readJsonArray } from "../base/files/read-json-array.ts";
import { writeFileAtomically } from "../base/files/write-file.ts";
import { CoaError, messageOf, UsageError } from "../core/errors.ts";
import { asArray, asNumber, asObject, asString, asText, type Json, parseJson } from "../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { holdsMessages, messagesToRuns } from "./formats/message-files.ts";
import { oagentsToRun } from "./formats/oagents.ts";
import { smolagentsToRun } from "./formats/smolagents.ts";
import { addTo } from "./recorded-call.ts";
import { eachRecording } from "./recordings.ts";
import { type TraceRecord, traceFormatNames, traceIdsOf } from "./trace-log.ts";
import type { WireExchange } from "./wire-exchange.ts";

/** Every format that can be named, with what it is. */
export const importFormats = {
  "team-runs": "team runs of chain-of-agents",
  calls: "a log of the recording proxy or preload",
  traces: "a log of the collector",
  wire: "JSONL of {url, request, response} pairs",
  otlp: "an OTLP/JSON trace export",
  langsmith: "LangSmith runs: {post, patch}, a list, or JSONL",
  langfuse: "a Langfuse trace with observations, or a list of them",
  "openai-agents": "OpenAI Agents traces: {data: [...]}",
  messages: "lists of messages (OpenAI, ShareGPT, ReAct, group chats by names) with their outcomes",
  smolagents: "smolagents memory: a list of steps",
  oagents: "an OAgents run log (JSONL)",
} as const;
export type ImportFormat = keyof typeof importFormats;

/** Formats of which each record is whole by itself; of the others, several files may hold parts of one run. */
const alone: ReadonlySet<ImportFormat> = new Set(["team-runs", "messages", "oagents", "smolagents"]);

export interface ImportOptions {
  format?: string;
  /** Told of a file that can't be read, or that holds no run, instead of an error. */
  onUnreadable?: (file: string, reason: string) => void;
  /** Files beyond this are read piece by piece, through the disk where pieces belong together. Default 64 MiB. */
  memoryBytes?: number;
}

/** All runs of one or more files at once. */
export async function importFiles(files: readonly string[], options: ImportOptions = {}): Promise<TeamRun[]> {
  return Array.fromAsync(importRuns(files, options));
}

/** The runs of one or more files, one at a time; memory grows with a run, not with a file. */
export async function* importRuns(files: readonly string[], options: ImportOptions = {}): AsyncGenerator<TeamRun> {
  if (options.format !== undefined && !(options.format in importFormats)) {
    throw new UsageError(`unknown format "${options.format}"; known are: ${Object.keys(importFormats).join(", ")}`);
  }
  const { onUnreadable, memoryBytes = 64 * 2 ** 20 } = options;
  const together = new Map<ImportFormat, string[]>();
  for (const file of files) {
    try {
      const format = (options.format as ImportFormat | undefined) ?? (await formatOf(file, memoryBytes));
      if (!alone.has(format)) addTo(together, format, file);
      else yield* someRuns(runsAlone(file, format, memoryBytes), [file], onUnreadable);
    } catch (error) {
      if (!onUnreadable) throw error;
      onUnreadable(file, messageOf(error));
    }
  }
  for (const [format, group] of together) {
    const readable: string[] = [];
    if (onUnreadable && group.length > 1) {
      for (const file of group) {
        try {
          for await (const _line of logLines(file, format, memoryBytes, { records: 0 }));
          readable.push(file);
        } catch (error) {
          onUnreadable(file, messageOf(error));
        }
      }
    } else readable.push(...group);
    try {
      yield* someRuns(runsTogether(readable, format, memoryBytes), readable, onUnreadable);
    } catch (error) {
      if (!onUnreadable) throw error;
      for (const file of readable) onUnreadable(file, messageOf(error));
    }
  }
}

/** The same runs; says where there are none. */
async function* someRuns(
  runs: AsyncIterable<TeamRun>,
  files: readonly string[],
  onUnreadable?: ImportOptions["onUnreadable"],
): AsyncGenerator<TeamRun> {
  let count = 0;
  for await (const run of runs) {
    count++;
    yield run;
  }
  if (count === 0) for (const file of files) onUnreadable?.(file, "no model call in it");
}

async function formatOf(file: string, memoryBytes: number): Promise<ImportFormat> {
  for await (const record of readRecords(file, memoryBytes)) return detectFormat([record], file);
  return detectFormat([], file);
}

/** Runs of records that stand for themselves. */
async function* runsAlone(file: string, format: ImportFormat, memoryBytes: number): AsyncGenerator<TeamRun> {
  const name = basename(file).replace(/\.jsonl?(?:\.gz)?$/, "");
  let before: unknown;
  let number = 0;
  const runsOf = (record: unknown, id: string): TeamRun[] => {
    if (format === "team-runs") return [teamRunSchema.parse(record) as TeamRun];
    if (format === "smolagents") return [smolagentsToRun(record, id)];
    const one = asObject(record) ?? {};
    return format === "messages" ? messagesToRuns(one, id) : [oagentsToRun(one, id)];
  };
  // A memory may be the list of its steps.
  const records = format === "smolagents" ? readRecords(file, maxWholeBytes) : flatRecords(file, memoryBytes);
  // A file of one record gives its run its own name: each waits until it is known whether another follows.
  for await (const record of records) {
    if (number > 0) yield* runsOf(before, `${name}-${number}`);
    before = record;
    number++;
  }
  if (number > 0) yield* runsOf(before, number === 1 ? name : `${name}-${number}`);
}

/**
 * Runs whose records may belong together: files are read as a folder of recordings is, through an index that is deleted
 * afterwards, so that memory grows with a run.
 */
async function* runsTogether(
  files: readonly string[],
  format: ImportFormat,
  memoryBytes: number,
): AsyncGenerator<TeamRun> {
  const folder = await mkdtemp(join(tmpdir(), "coa-import-"));
  try {
    const isLog = format === "calls" || format === "traces";
    const count = { records: 0 };
    for (const [index, file] of files.entries()) {
      const kind = isTraces(format) ? "traces" : "calls";
      const log = join(folder, `${kind}-${String(index).padStart(6, "0")}.jsonl`);
      if (isLog && !file.endsWith(".gz")) await symlink(resolve(file), log);
      else await writeFileAtomically(log, inPieces(logLines(file, format, memoryBytes, count)));
    }
    const window = { bytes: Math.max(2 ** 18, memoryBytes / 8), quietMs: 15 * 60_000 };
    for await (const run of eachRecording(folder, { window }))
      yield isLog ? run : { ...run, source: `import:${format}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isTraces(format: ImportFormat): boolean {
  return format === "traces" || traceFormatNames.some((name) => name === format);
}

/** The log that a recorder would have written of the same. */
async function* logLines(
  file: string,
  format: ImportFormat,
  memoryBytes: number,
  count: { records: number },
): AsyncGenerator<string> {
  const encoder = callEncoder();
  for await (const record of flatRecords(file, memoryBytes)) {
    if (format === "wire") {
      const lines = encoder.linesOf(wireExchange(record, count.records++));
      encoder.written(lines);
      yield lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    } else if (format === "calls" || format === "traces") yield `${JSON.stringify(record)}\n`;
    else {
      const payload = { format: format as TraceRecord["format"], payload: record };
      if (traceIdsOf(payload).size > 0) yield `${JSON.stringify({ version: 1, at: 0, ...payload })}\n`;
    }
  }
}

/** The same text in fewer pieces. */
async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let text = "";
  for await (const line of lines) {
    text += line;
    if (text.length < 2 ** 16) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** The records of a file, those in lists one by one. */
async function* flatRecords(file: string, memoryBytes: number): AsyncGenerator<Json> {
  for await (const record of readRecords(file, memoryBytes)) {
    for (const one of Array.isArray(record) ? record : [record]) yield asObject(one) ?? {};
  }
}

/** One JSON value, or one from each line; of a value too large for memory, the elements of its list. */
async function* readRecords(file: string, memoryBytes: number): AsyncGenerator<unknown> {
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new UsageError(`there is no file ${file}`);
  const packed = file.endsWith(".gz") ? createReadStream(file).compose(createGunzip()) : undefined;
  if (!packed && found.size > memoryBytes) {
    const list = await largeList(file);
    if (list) {
      for await (const element of readJsonArray(file))
        yield list.key === undefined ? element : { [list.key]: [element] };
      return;
    }
  }
  let read = 0;
  for await (const { line, text } of fileLines(file, packed && { stream: packed })) {
    if (text.trim() === "") continue;
    const value = parseJson(text);
    if (value === undefined) {
      const whole = read === 0 && found.size <= maxWholeBytes ? await readWhole(file) : undefined;
      if (whole === undefined) throw new CoaError("record", `${file}:${line}: neither JSON nor JSONL`);
      yield whole;
      return;
    }
    read++;
    yield value;
  }
}

/** The largest file that is read as one JSON value. */
const maxWholeBytes = 400 * 2 ** 20;

async function readWhole(file: string): Promise<unknown> {
  const bytes = await readFile(file);
  const content = file.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength: maxWholeBytes }) : bytes;
  return parseJson(content.toString("utf8"));
}

/** Whether a large file is one list, or an object that begins with one; undefined where it is lines. */
async function largeList(file: string): Promise<{ key?: string } | undefined> {
  let head = "";
  for await (const chunk of createReadStream(file, { encoding: "utf8", end: 2 ** 24 })) {
    head = (head + chunk).trimStart();
    if (head.includes("\n")) break;
  }
  const [first = ""] = head.split("\n", 1);
  if (parseJson(first) !== undefined) return undefined;
  const [, key] = /^\s*(?:\[|\{\s*"(\w+)"\s*:\s*\[)/.exec(head) ?? ["", ""];
  return key === "" ? undefined : { key };
}

/** Recognises a format by the fields of its first record. */
function detectFormat(records: readonly unknown[], file = "the file"): ImportFormat {
  const first = records[0];
  const one = asObject(Array.isArray(first) ? first[0] : first) ?? {};
  const has = (...keys: string[]) => keys.every((key) => key in one);
  if (has("version", "agents", "steps", "messages")) return "team-runs";
  if (has("part", "value") || has("exchange")) return "calls";
  if (has("format", "payload", "at")) return "traces";
  if (has("request", "response")) return "wire";
  if (has("resourceSpans")) return "otlp";
  if (has("post") || has("patch") || has("run_type") || has("runs")) return "langsmith";
  if (has("observations") || has("traceId", "type", "startTime")) return "langfuse";
  if ((has("data") && Array.isArray(one["data"])) || String(one["object"]).startsWith("trace")) return "openai-agents";
  if (has("intermediate_steps")) return "oagents";
  if (has("messages") || has("conversations") || holdsMessages(one)) return "messages";
  const steps = asArray(Array.isArray(first) ? first : (one["steps"] ?? one["memory"])).map(
    (step) => asObject(step) ?? {},
  );
  if (steps.some((step) => "model_output" in step || "task" in step || "plan" in step)) return "smolagents";
  throw new UsageError(`${file}: no known format (fields: ${Object.keys(one).slice(0, 8).join(", ") || "none"})`, {
    hint: { option: "format", value: Object.keys(importFormats).join(" | ") },
  });
}

/** A captured pair of other recorders: request and response as JSON or text. */
function wireExchange(record: unknown, index: number): WireExchange {
  const raw = asObject(record) ?? {};
  const response = raw["response"];
  const text = asText(response);
  const startedAt = asNumber(raw["t"] ?? raw["startedAt"] ?? raw["timestamp"]) ?? index;
  return {
    version: 1,
    id: asString(raw["id"]) ?? `call-${index + 1}`,
    ...(asString(raw["runId"] ?? raw["run_id"]) !== undefined && { runId: asString(raw["runId"] ?? raw["run_id"])! }),
    path: asString(raw["url"] ?? raw["path"]) ?? "/v1/chat/completions",
    startedAt,
    endedAt: asNumber(raw["endedAt"]) ?? startedAt,
    status: asNumber(raw["status"]) ?? 200,
    outcome: "complete",
    request: typeof raw["request"] === "string" ? parseJson(raw["request"]) : raw["request"],
    contentType: /^\s*(?:data|event):/.test(text) ? "text/event-stream" : "application/json",
    response: text,
  };
}
