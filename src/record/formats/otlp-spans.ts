/** OTLP/JSON flattened: one list of spans with attributes as plain values. Anything of the wrong type is refused by name. */

import { maxDepth } from "../../core/budget.ts";
import { CoaError } from "../../core/errors.ts";
import { asArray, asNumber, asObject, asString } from "../../core/json-value.ts";

export interface OtlpSpan {
  id: string;
  parentId?: string;
  traceId: string;
  name: string;
  scope: string;
  startedAt: number;
  endedAt?: number;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  /** The exporter says that it left attributes out. */
  dropped: number;
  error?: string;
  /** Holds an event that came as a log, and nothing else. */
  ofLog?: boolean;
}

const maxSpans = 200_000;

/** Reads an export request; throws with the place of the first thing that is not as the protocol says. */
export function readOtlp(payload: unknown): OtlpSpan[] {
  const body = asObject(payload);
  if (body && Array.isArray(body["resourceLogs"])) return readLogs(body["resourceLogs"]);
  if (!body || !Array.isArray(body["resourceSpans"])) throw bad("no resourceSpans array");
  const spans: OtlpSpan[] = [];
  for (const resource of body["resourceSpans"]) {
    const scopes = asObject(resource)?.["scopeSpans"] ?? asObject(resource)?.["instrumentationLibrarySpans"] ?? [];
    if (!Array.isArray(scopes)) throw bad("scopeSpans is not an array");
    for (const scope of scopes) {
      const own = asObject(scope)?.["spans"] ?? [];
      if (!Array.isArray(own)) throw bad("spans is not an array");
      const name = asString(asObject(asObject(scope)?.["scope"])?.["name"]) ?? "";
      for (const span of own) spans.push(readSpan(span, name));
      if (spans.length > maxSpans) throw bad(`more than ${maxSpans} spans in one request`);
    }
  }
  return spans;
}

function readSpan(value: unknown, scope: string): OtlpSpan {
  const raw = asObject(value);
  if (!raw) throw bad("a span is not an object");
  const id = asString(raw["spanId"]);
  const traceId = asString(raw["traceId"]);
  if (!id || !traceId) throw bad("a span has no spanId or traceId");
  const parentId = asString(raw["parentSpanId"]);
  const status = asObject(raw["status"]);
  const failed = status?.["code"] === 2 || status?.["code"] === "STATUS_CODE_ERROR";
  const endedAt = milliseconds(raw["endTimeUnixNano"]);
  return {
    id,
    traceId,
    ...(parentId && { parentId }),
    name: asString(raw["name"]) ?? "",
    scope,
    startedAt: milliseconds(raw["startTimeUnixNano"]) ?? 0,
    ...(endedAt !== undefined && { endedAt }),
    attributes: readAttributes(raw["attributes"]),
    events: asArray(raw["events"]).map((event) => ({
      name: asString(asObject(event)?.["name"]) ?? "",
      attributes: readAttributes(asObject(event)?.["attributes"]),
    })),
    dropped: asNumber(raw["droppedAttributesCount"]) ?? 0,
    ...(failed && { error: asString(status?.["message"]) || "failed" }),
  };
}

/** Events of model calls that were exported as logs: each as its span, without anything but that event. */
function readLogs(resources: readonly unknown[]): OtlpSpan[] {
  const inside = (list: readonly unknown[], key: string) => list.flatMap((one) => asArray(asObject(one)?.[key]));
  const records = inside(inside(resources, "scopeLogs"), "logRecords").map((record) => asObject(record) ?? {});
  if (records.length > maxSpans) throw bad(`more than ${maxSpans} log records in one request`);
  return records.flatMap(({ traceId, spanId, eventName, ...record }): OtlpSpan[] => {
    const attributes = { ...readAttributes(record["attributes"]), ...asObject(readValue(record["body"], 0)) };
    const name = asString(eventName) || asString(attributes["event.name"]);
    if (!name?.startsWith("gen_ai.") || !asString(traceId) || !asString(spanId)) return [];
    const startedAt = milliseconds(record["timeUnixNano"]) ?? 0;
    const span = { id: asString(spanId)!, traceId: asString(traceId)!, name: "", scope: "", startedAt };
    return [{ ...span, attributes: {}, events: [{ name, attributes }], dropped: 0, ofLog: true }];
  });
}

/** Spans with the events that logs hold of them, each once however often it was sent; events of no span are left out. */
export function withLogs(all: readonly OtlpSpan[]): OtlpSpan[] {
  const once = new Map(all.filter((one) => one.ofLog).map((log) => [JSON.stringify(log), log]));
  const inOrder = [...once.values()].sort((a, b) => a.startedAt - b.startedAt);
  const logs = Map.groupBy(inOrder, ({ traceId, id }) => `${traceId}/${id}`);
  const spans = all.filter((one) => !one.ofLog);
  return spans.map((span) => {
    const own = logs.get(`${span.traceId}/${span.id}`) ?? [];
    return own.length === 0 ? span : { ...span, events: [...span.events, ...own.flatMap(({ events }) => events)] };
  });
}

function readAttributes(value: unknown): Record<string, unknown> {
  if (value !== undefined && value !== null && !Array.isArray(value)) throw bad("attributes is not an array");
  const attributes: Record<string, unknown> = Object.create(null);
  for (const pair of asArray(value)) {
    const key = asString(asObject(pair)?.["key"]);
    if (key === undefined) throw bad("an attribute has no key");
    attributes[key] = readValue(asObject(pair)?.["value"], 0);
  }
  return attributes;
}

function readValue(value: unknown, depth: number): unknown {
  if (depth > maxDepth) throw bad(`an attribute is nested more than ${maxDepth} deep`);
  const raw = asObject(value);
  if (!raw) return undefined;
  if ("stringValue" in raw) return asString(raw["stringValue"]) ?? "";
  if ("intValue" in raw) return asNumber(raw["intValue"]);
  if ("doubleValue" in raw) return asNumber(raw["doubleValue"]);
  if ("boolValue" in raw) return raw["boolValue"] === true;
  if ("arrayValue" in raw) {
    return asArray(asObject(raw["arrayValue"])?.["values"]).map((inner) => readValue(inner, depth + 1));
  }
  if ("kvlistValue" in raw) {
    return Object.fromEntries(
      asArray(asObject(raw["kvlistValue"])?.["values"]).map((pair) => [
        asString(asObject(pair)?.["key"]) ?? "",
        readValue(asObject(pair)?.["value"], depth + 1),
      ]),
    );
  }
  return raw["bytesValue"];
}

/** Nanoseconds, as text or number, to milliseconds; BigInt because a double can't hold them. */
function milliseconds(value: unknown): number | undefined {
  if (typeof value === "string" && /^\d{1,20}$/.test(value)) return Number(BigInt(value) / 1000n) / 1000;
  const number = asNumber(value);
  return number === undefined ? undefined : number / 1e6;
}

function bad(what: string): CoaError {
  return new CoaError("record", `not an OTLP trace export: ${what}`);
}
