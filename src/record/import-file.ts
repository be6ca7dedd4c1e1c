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
import { asArray, asNumber, asObject, asString, asText, parseJson } from "../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import { aiSdkEventsToCalls, isAiSdkEvent } from "./formats/ai-sdk-events.ts";
import { langfuseToSpans } from "./formats/langfuse.ts";
import { langSmithToSpans, readLangSmithRuns } from "./formats/langsmith.ts";
import { isMastraEvent, mastraEventsToSpans } from "./formats/mastra-events.ts";
import { holdsMessages, messagesToRuns } from "./formats/message-files.ts";
import { oagentsToRun } from "./formats/oagents.ts";
import { agentsToSpans, readAgentsItems } from "./formats/openai-agents.ts";
import { readOtlp } from "./formats/otlp-spans.ts";
import { otlpToSpans } from "./formats/otlp-to-spans.ts";
import { smolagentsToRun } from "./formats/smolagents.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { eachRecording } from "./recordings.ts";
import { spansToRuns } from "./spans-to-runs.ts";
import { exchangeToCall, type WireExchange } from "./wire-exchange.ts";

/** Every format that can be named, with what it is. */
export const importFormats = {
  "team-runs": "team runs of chain-of-agents",
  calls: "a log of the recording proxy or preload",
  traces: "a log of the collector",
  wire: "JSONL of {url, request, response} pairs",
  otlp: "an OTLP/JSON trace export",
  "ai-sdk": "events of the AI SDK's tracing channel (JSONL)",
  mastra: "Mastra's tracing events (JSONL)",
  langsmith: "LangSmith runs: {post, patch}, a list, or JSONL",
  langfuse: "a Langfuse trace with observations, or a list of them",
  "openai-agents": "OpenAI Agents traces: {data: [...]}",
  messages: "lists of messages (OpenAI, ShareGPT, ReAct, group chats by names) with their outcomes",
  smolagents: "smolagents memory: a list of steps",
  oagents: "an OAgents run log (JSONL)",
} as const;
export type ImportFormat = keyof typeof importFormats;

/** Formats of which each record is whole by itself; of the others, several files may hold parts of one run. */
const alone: ReadonlySet<ImportFormat> = new Set(["team-runs", "messages", "oagents"]);

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
          for await (const _run of runsTogether([file], format, memoryBytes)) break;
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
  const name = nameOf(file);
  let before: unknown;
  let number = 0;
  const runsOf = (record: unknown, id: string): TeamRun[] => {
    if (format === "team-runs") return [teamRunSchema.parse(record) as TeamRun];
    const one = asObject(record) ?? {};
    return format === "messages" ? messagesToRuns(one, id) : [oagentsToRun(one, id)];
  };
  // A file of one record gives its run its own name: each waits until it is known whether another follows.
  for await (const record of readRecords(file, memoryBytes)) {
    for (const one of Array.isArray(record) ? record : [record]) {
      if (number > 0) yield* runsOf(before, `${name}-${number}`);
      before = one;
      number++;
    }
  }
  if (number > 0) yield* runsOf(before, number === 1 ? name : `${name}-${number}`);
}

function nameOf(file: string | undefined): string {
  return basename(file ?? "run").replace(/\.jsonl?(?:\.gz)?$/, "");
}

/** Runs whose records may belong together. */
async function* runsTogether(
  files: readonly string[],
  format: ImportFormat,
  memoryBytes: number,
): AsyncGenerator<TeamRun> {
  const sizes = await Promise.all(files.map((file) => stat(file).then(({ size }) => size)));
  const large = sizes.reduce((sum, size) => sum + size, 0) > memoryBytes;
  if (isLogFormat(format) || (large && format in stagedAs)) yield* stagedRuns(files, format, memoryBytes);
  else {
    const records: unknown[] = [];
    for (const file of files) for await (const record of readRecords(file, memoryBytes)) records.push(record);
    yield* toRuns(format, records, files);
  }
}

function isLogFormat(format: ImportFormat): boolean {
  return format === "calls" || format === "traces";
}

/** The log that a recorder would have written of the same. */
const stagedAs: Partial<Record<ImportFormat, "calls" | "traces">> = {
  wire: "calls",
  otlp: "traces",
  langsmith: "traces",
  "openai-agents": "traces",
};

/** Reads files as a folder of recordings is read, through an index that is deleted afterwards. */
async function* stagedRuns(
  files: readonly string[],
  format: ImportFormat,
  memoryBytes: number,
): AsyncGenerator<TeamRun> {
  const folder = await mkdtemp(join(tmpdir(), "coa-import-"));
  try {
    for (const [index, file] of files.entries()) {
      const log = join(folder, `${stagedAs[format] ?? format}-${String(index).padStart(6, "0")}.jsonl`);
      if (isLogFormat(format) && !file.endsWith(".gz")) await symlink(resolve(file), log);
      else await writeFileAtomically(log, stagedLines(file, format, memoryBytes));
    }
    for await (const run of eachRecording(folder))
      yield isLogFormat(format) ? run : { ...run, source: `import:${format}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* stagedLines(file: string, format: ImportFormat, memoryBytes: number): AsyncGenerator<string> {
  const encoder = callEncoder();
  let number = 0;
  for await (const record of readRecords(file, memoryBytes)) {
    for (const one of Array.isArray(record) ? record : [record]) {
      if (isLogFormat(format)) yield `${JSON.stringify(one)}\n`;
      else if (format === "wire") {
        const lines = encoder.linesOf(wireExchange(one, number++));
        encoder.written(lines);
        yield lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      } else {
        const payload = format === "openai-agents" && asObject(one)?.["object"] ? [one] : one;
        yield `${JSON.stringify({ version: 1, at: 0, format, payload })}\n`;
      }
    }
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
  for await (const chunk of createReadStream(file, { encoding: "utf8", end: 2 ** 24 })) head += chunk;
  const [first = ""] = head.trimStart().split("\n", 1);
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
  if (isMastraEvent(one)) return "mastra";
  if (isAiSdkEvent(one)) return "ai-sdk";
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

function toRuns(format: ImportFormat, records: readonly unknown[], files: readonly string[]): TeamRun[] {
  const flat = records.flatMap((record) => (Array.isArray(record) ? record : [record]));
  const name = nameOf(files[0]);
  switch (format) {
    case "wire":
      return callsToRuns(flat.flatMap(wirePair), "import:wire");
    case "otlp":
      return spansToRuns(otlpToSpans(flat.flatMap((record) => readOtlp(record))), "import:otlp");
    case "ai-sdk":
      return callsToRuns(aiSdkEventsToCalls(flat.map((record) => asObject(record) ?? {})), "import:ai-sdk");
    case "mastra":
      return spansToRuns(mastraEventsToSpans(flat.map((record) => asObject(record) ?? {})), "import:mastra");
    case "langsmith":
      return spansToRuns(langSmithToSpans(records.flatMap((record) => readLangSmithRuns(record))), "import:langsmith");
    case "langfuse":
      return spansToRuns(langfuseToSpans(flat), "import:langfuse");
    case "openai-agents": {
      const items = records.flatMap((record) => readAgentsItems(asObject(record)?.["object"] ? [record] : record));
      return spansToRuns(agentsToSpans(items), "import:openai-agents");
    }
    case "smolagents":
      return records.map((record, index) =>
        smolagentsToRun(record, records.length === 1 ? name : `${name}-${index + 1}`),
      );
    default:
      throw new CoaError("record", `${format} is read record by record`);
  }
}

/** A captured pair of other recorders: request and response as JSON or text. */
function wirePair(record: unknown, index: number): RecordedCall[] {
  const call = exchangeToCall(wireExchange(record, index));
  return call ? [call] : [];
}

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
