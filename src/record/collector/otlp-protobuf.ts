/** OTLP exports in protobuf, turned into the shape of OTLP/JSON, so that one reader serves both. */
import { type ProtoField, protoFields } from "../../base/wire/protobuf.ts";
import { maxDepth } from "../../core/budget.ts";
import { CoaError } from "../../core/errors.ts";

/** Decodes an `ExportTraceServiceRequest`. */
export function decodeOtlp(body: Uint8Array): { resourceSpans: unknown[] } {
  return { resourceSpans: nested(body, 1).map((resource) => ({ scopeSpans: nested(resource, 2).map(scopeSpans) })) };
}

/** Decodes an `ExportLogsServiceRequest`. */
export function decodeOtlpLogs(body: Uint8Array): { resourceLogs: unknown[] } {
  const scopeLogs = (bytes: Uint8Array) => ({ logRecords: nested(bytes, 2).map(logRecord) });
  return { resourceLogs: nested(body, 1).map((resource) => ({ scopeLogs: nested(resource, 2).map(scopeLogs) })) };
}

function logRecord(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  const [body] = nested(bytes, 5);
  return {
    timeUnixNano: time(fields, 1),
    ...(body && { body: anyValue(body, 0) }),
    attributes: attributes(bytes, 6),
    traceId: hex(fields, 9),
    spanId: hex(fields, 10),
    eventName: text(fields, 12),
  };
}

function scopeSpans(bytes: Uint8Array): unknown {
  const [scope] = nested(bytes, 1);
  return { scope: { name: scope ? text(fieldsOf(scope), 1) : "" }, spans: nested(bytes, 2).map(span) };
}

function span(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  const [status] = nested(bytes, 15);
  return {
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    parentSpanId: hex(fields, 4),
    name: text(fields, 5),
    startTimeUnixNano: time(fields, 7),
    endTimeUnixNano: time(fields, 8),
    attributes: attributes(bytes, 9),
    droppedAttributesCount: integer(fields, 10),
    events: nested(bytes, 11).map(event),
    ...(status && { status: { message: text(fieldsOf(status), 2), code: integer(fieldsOf(status), 3) } }),
  };
}

function event(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  return { timeUnixNano: time(fields, 1), name: text(fields, 2), attributes: attributes(bytes, 3) };
}

function attributes(bytes: Uint8Array, number: number, depth = 0): unknown[] {
  return nested(bytes, number).map((pair) => {
    const [value] = nested(pair, 2);
    return { key: text(fieldsOf(pair), 1), value: value ? anyValue(value, depth) : {} };
  });
}

function anyValue(bytes: Uint8Array, depth: number): unknown {
  if (depth > maxDepth) throw new CoaError("format", `an attribute is nested more than ${maxDepth} deep`);
  const value = fieldsOf(bytes).at(-1);
  switch (value?.field) {
    case 1:
      return { stringValue: buffer(value).toString("utf8") };
    case 2:
      return { boolValue: value.number === 1 };
    case 3:
      return { intValue: String(value.integer) };
    case 4:
      return { doubleValue: value.number };
    case 5:
      return { arrayValue: { values: nested(value.bytes, 1).map((inner) => anyValue(inner, depth + 1)) } };
    case 6:
      return { kvlistValue: { values: attributes(value.bytes, 1, depth + 1) } };
    case 7:
      return { bytesValue: buffer(value).toString("base64") };
    default:
      return {};
  }
}

function fieldsOf(bytes: Uint8Array): ProtoField[] {
  return [...protoFields(bytes)];
}

function nested(bytes: Uint8Array, number: number): Uint8Array[] {
  return fieldsOf(bytes).flatMap(({ field, bytes }) => (field === number ? [bytes] : []));
}

function last(fields: readonly ProtoField[], number: number): ProtoField | undefined {
  return fields.findLast(({ field }) => field === number);
}

function buffer(field: ProtoField | undefined): Buffer {
  const { buffer, byteOffset, length } = field?.bytes ?? new Uint8Array();
  return Buffer.from(buffer, byteOffset, length);
}

function text(fields: readonly ProtoField[], number: number): string {
  return buffer(last(fields, number)).toString("utf8");
}

function hex(fields: readonly ProtoField[], number: number): string {
  return buffer(last(fields, number)).toString("hex");
}

function time(fields: readonly ProtoField[], number: number): string {
  const bytes = buffer(last(fields, number));
  return bytes.length === 8 ? String(bytes.readBigUInt64LE()) : "0";
}

function integer(fields: readonly ProtoField[], number: number): number {
  return last(fields, number)?.number ?? 0;
}
