/** What a collector received or a file of traces holds, payload by payload, so that a better reader can read it again later. */
import { z } from "zod";
import { asObject, asString, asText, type Json } from "../core/json-value.ts";
import { langfuseToSpans, langfuseTrace } from "./formats/langfuse.ts";
import { langSmithToSpans, readLangSmithRuns } from "./formats/langsmith.ts";
import { agentsToSpans, readAgentsItems } from "./formats/openai-agents.ts";
import { type OtlpSpan, readOtlp } from "./formats/otlp-spans.ts";
import { otlpToSpans } from "./formats/otlp-to-spans.ts";
import type { TraceSpan } from "./trace-span.ts";

/** How payloads of one kind are read: their items, the trace of each, and the spans of all. */
interface TraceFormat<Item> {
  items(payload: unknown): Item[];
  traceOf(item: Item): string;
  spans(items: readonly Item[]): TraceSpan[];
}

const single = (payload: unknown): Json[] => [asObject(payload) ?? {}];
const byTraceId = (item: Json) => asString(item["trace_id"]) ?? asText(item["id"]);
const format = <Item>(one: TraceFormat<Item>) => one as TraceFormat<unknown>;

const traceFormats = {
  otlp: format<OtlpSpan>({ items: readOtlp, traceOf: ({ traceId }) => traceId, spans: otlpToSpans }),
  langsmith: format<Json>({ items: readLangSmithRuns, traceOf: byTraceId, spans: langSmithToSpans }),
  "openai-agents": format<Json>({
    items: (payload) => readAgentsItems(asObject(payload)?.["object"] === undefined ? payload : [payload]),
    traceOf: byTraceId,
    spans: agentsToSpans,
  }),
  langfuse: format<Json>({ items: single, traceOf: langfuseTrace, spans: langfuseToSpans }),
};

export const traceFormatNames = Object.keys(traceFormats) as (keyof typeof traceFormats)[];

/** Reads one payload. */
export const traceRecordSchema = z.object({
  version: z.literal(1),
  at: z.number(),
  format: z.enum(traceFormatNames),
  payload: z.unknown(),
});
export type TraceRecord = z.infer<typeof traceRecordSchema>;

/** The traces that a payload says something of; throws where it is not what its format says. */
export function traceIdsOf({ format, payload }: Pick<TraceRecord, "format" | "payload">): Set<string> {
  const { items, traceOf } = traceFormats[format];
  return new Set(items(payload).map(traceOf));
}

/** Spans of all payloads; those that belong together may have come in several. */
export function tracesToSpans(records: readonly TraceRecord[]): TraceSpan[] {
  const spans = [...Map.groupBy(records, ({ format }) => format)].flatMap(([format, own]) => {
    const { items, spans } = traceFormats[format];
    return spans(own.flatMap(({ payload }) => items(payload)));
  });
  // Exporters that retry send the same span twice.
  return [...new Map(spans.map((span) => [`${span.traceId}/${span.id}`, span])).values()];
}
