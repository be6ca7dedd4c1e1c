/** What the collector received, payload by payload, so that a better reader can read it again later. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type ReadOptions, readJsonl } from "../base/files/read-jsonl.ts";
import { langSmithToSpans, readLangSmithRuns } from "./formats/langsmith.ts";
import { agentsToSpans, readAgentsItems } from "./formats/openai-agents.ts";
import { readOtlp } from "./formats/otlp-spans.ts";
import { otlpToSpans } from "./formats/otlp-to-spans.ts";
import type { TraceSpan } from "./trace-span.ts";

/** Reads one payload. */
export const traceRecordSchema = z.object({
  version: z.literal(1),
  at: z.number(),
  format: z.enum(["otlp", "langsmith", "openai-agents"]),
  payload: z.unknown(),
});
export type TraceRecord = z.infer<typeof traceRecordSchema>;

/** The payloads of one log. */
export function readTraceLogFile(file: string, options: ReadOptions = {}): AsyncIterable<TraceRecord> {
  return readJsonl(file, traceRecordSchema, options);
}

/** The payloads of all logs in a folder. */
export async function* readTraceLogs(folder: string, options: ReadOptions = {}): AsyncGenerator<TraceRecord> {
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((one) => /^traces-.*\.jsonl$/.test(one)).sort()) {
    yield* readTraceLogFile(join(folder, name), options);
  }
}

/** The traces that a payload says something of. */
export function traceIdsOf({ format, payload }: TraceRecord): Set<string> {
  if (format === "otlp") return new Set(readOtlp(payload).map(({ traceId }) => traceId));
  const items = format === "langsmith" ? readLangSmithRuns(payload) : readAgentsItems(payload);
  return new Set(items.map((item) => String(item["trace_id"] ?? item["id"])));
}

/** Spans of all payloads; those that belong together may have come in several. */
export function tracesToSpans(records: readonly TraceRecord[]): TraceSpan[] {
  const of = (format: TraceRecord["format"]) =>
    records.filter((record) => record.format === format).map(({ payload }) => payload);
  const spans = [
    ...otlpToSpans(of("otlp").flatMap((payload) => readOtlp(payload))),
    ...langSmithToSpans(of("langsmith").flatMap((payload) => readLangSmithRuns(payload))),
    ...agentsToSpans(of("openai-agents").flatMap((payload) => readAgentsItems(payload))),
  ];
  // Exporters that retry send the same span twice.
  return [...new Map(spans.map((span) => [`${span.traceId}/${span.id}`, span])).values()];
}
