/** Reads files of other systems into team runs; the format is recognised by what the file holds, or named. */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { createGunzip, gunzipSync } from "node:zlib";
import { fileLines } from "../base/files/lines.ts";
import { CoaError, UsageError } from "../core/errors.ts";
import { asArray, asNumber, asObject, asString, asText, parseJson } from "../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { readCallLog } from "./call-log.ts";
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
import type { RecordedCall } from "./recorded-call.ts";
import { resolveItems } from "./resolve-items.ts";
import { spansToRuns } from "./spans-to-runs.ts";
import { readTraceLogFile, tracesToSpans } from "./trace-log.ts";
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

const maxFileBytes = 400 * 2 ** 20;

/** The runs of one or more files of the same system, which may belong together (batches of one trace). */
export async function importFiles(files: readonly string[], options: { format?: string } = {}): Promise<TeamRun[]> {
  if (options.format !== undefined && !(options.format in importFormats)) {
    throw new UsageError(`unknown format "${options.format}"; known are: ${Object.keys(importFormats).join(", ")}`);
  }
  const read = await Promise.all(files.map((file) => readRecords(file)));
  const formats = read.map(
    (records, index) => (options.format ?? detectFormat(records, files[index]!)) as ImportFormat,
  );
  const byFormat = new Map<ImportFormat, { records: unknown[]; files: string[] }>();
  formats.forEach((format, index) => {
    const group = byFormat.get(format) ?? { records: [], files: [] };
    group.records = group.records.concat(read[index]!);
    group.files.push(files[index]!);
    byFormat.set(format, group);
  });
  const runs: TeamRun[] = [];
  for (const [format, group] of byFormat) runs.push(...(await toRuns(format, group.records, group.files)));
  return runs;
}

/** One JSON value, or one from each line. */
async function readRecords(file: string): Promise<unknown[]> {
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new UsageError(`there is no file ${file}`);
  const packed = file.endsWith(".gz") ? createReadStream(file).compose(createGunzip()) : undefined;
  const records: unknown[] = [];
  for await (const { line, text } of fileLines(file, packed && { stream: packed })) {
    if (text.trim() === "") continue;
    const value = parseJson(text);
    if (value === undefined) {
      const whole = records.length === 0 ? await readWhole(file, found.size) : undefined;
      if (whole !== undefined) return [whole];
      throw new CoaError("record", `${file}:${line}: neither JSON nor JSONL`);
    }
    records.push(value);
    // Our own logs are read again, call by call.
    if (records.length === 1 && isLog(asObject(value) ?? {})) break;
  }
  return records;
}

/** A file that is one JSON value over several lines; lines of JSON may be of any number. */
async function readWhole(file: string, size: number): Promise<unknown> {
  if (size <= maxFileBytes) {
    const bytes = await readFile(file);
    const content = file.endsWith(".gz") ? gunzipSync(bytes, { maxOutputLength: maxFileBytes }) : bytes;
    return parseJson(content.toString("utf8"));
  }
  throw new CoaError(
    "record",
    `${file} is one JSON value of ${size} bytes, at most ${maxFileBytes} are read: use JSONL`,
  );
}

/** Whether a record is of a log that a recorder of this package wrote. */
function isLog(one: Record<string, unknown>): boolean {
  return ("part" in one && "value" in one) || "exchange" in one || ("payload" in one && "format" in one && "at" in one);
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

async function toRuns(format: ImportFormat, records: readonly unknown[], files: readonly string[]): Promise<TeamRun[]> {
  const flat = records.flatMap((record) => (Array.isArray(record) ? record : [record]));
  const name = basename(files[0] ?? "run").replace(/\.jsonl?(?:\.gz)?$/, "");
  const idOf = (index: number) => (flat.length === 1 ? name : `${name}-${index + 1}`);
  switch (format) {
    case "team-runs":
      return flat.map((record) => teamRunSchema.parse(record));
    case "calls": {
      const exchanges: WireExchange[] = [];
      for (const file of files) for await (const exchange of readCallLog(file)) exchanges.push(exchange);
      return callsToRuns(
        resolveItems(exchanges).flatMap((exchange) => exchangeToCall(exchange) ?? []),
        "proxy",
      );
    }
    case "traces": {
      const spans = [];
      for (const file of files) for await (const record of readTraceLogFile(file)) spans.push(record);
      return spansToRuns(tracesToSpans(spans), "collector");
    }
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
    case "messages":
      return flat.flatMap((record, index) => messagesToRuns(asObject(record) ?? {}, idOf(index)));
    case "smolagents":
      return records.map((record, index) =>
        smolagentsToRun(record, records.length === 1 ? name : `${name}-${index + 1}`),
      );
    case "oagents":
      return flat.map((record, index) => oagentsToRun(asObject(record) ?? {}, idOf(index)));
  }
}

/** A captured pair of other recorders: request and response as JSON or text. */
function wirePair(record: unknown, index: number): RecordedCall[] {
  const raw = asObject(record) ?? {};
  const response = raw["response"];
  const text = asText(response);
  const startedAt = asNumber(raw["t"] ?? raw["startedAt"] ?? raw["timestamp"]) ?? index;
  const call = exchangeToCall({
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
  });
  return call ? [call] : [];
}
