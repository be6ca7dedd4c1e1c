/** OTLP trace exports in protobuf, turned into the shape of OTLP/JSON, so that one reader serves both. */
import { RefusedRequest } from "../../base/http/refusal.ts";
import { type Field, readFields } from "./protobuf-reader.ts";

const maxDepth = 32;

/** Decodes an `ExportTraceServiceRequest`. */
export function decodeOtlp(body: Buffer): { resourceSpans: unknown[] } {
  return { resourceSpans: nested(body, 1).map((resource) => ({ scopeSpans: nested(resource, 2).map(scopeSpans) })) };
}

function scopeSpans(bytes: Buffer): unknown {
  const [scope] = nested(bytes, 1);
  return { scope: { name: scope ? text(fieldsOf(scope), 1) : "" }, spans: nested(bytes, 2).map(span) };
}

function span(bytes: Buffer): unknown {
  const fields = fieldsOf(bytes);
  const status = fields.find((field) => field.number === 15)?.bytes;
  return {
    traceId: hex(fields, 1),
    spanId: hex(fields, 2),
    parentSpanId: hex(fields, 4),
    name: text(fields, 5),
    startTimeUnixNano: time(fields, 7),
    endTimeUnixNano: time(fields, 8),
    attributes: attributes(fields, 9),
    droppedAttributesCount: integer(fields, 10),
    events: fields.filter((field) => field.number === 11 && field.bytes).map((field) => event(field.bytes!)),
    ...(status && { status: { message: text(fieldsOf(status), 2), code: integer(fieldsOf(status), 3) } }),
  };
}

function event(bytes: Buffer): unknown {
  const fields = fieldsOf(bytes);
  return { timeUnixNano: time(fields, 1), name: text(fields, 2), attributes: attributes(fields, 3) };
}

function attributes(fields: readonly Field[], number: number, depth = 0): unknown[] {
  return fields.filter((field) => field.number === number && field.bytes).map((field) => keyValue(field.bytes!, depth));
}

function keyValue(bytes: Buffer, depth: number): unknown {
  const fields = fieldsOf(bytes);
  const value = fields.find((field) => field.number === 2)?.bytes;
  return { key: text(fields, 1), value: value ? anyValue(value, depth) : {} };
}

function anyValue(bytes: Buffer, depth: number): unknown {
  if (depth > maxDepth) throw new RefusedRequest(400, `an attribute is nested more than ${maxDepth} deep`);
  const field = fieldsOf(bytes).at(-1);
  switch (field?.number) {
    case 1:
      return { stringValue: field.bytes?.toString("utf8") ?? "" };
    case 2:
      return { boolValue: field.varint === 1n };
    case 3:
      return { intValue: String(BigInt.asIntN(64, field.varint ?? 0n)) };
    case 4: {
      const buffer = Buffer.alloc(8);
      buffer.writeBigUInt64LE(field.fixed64 ?? 0n);
      return { doubleValue: buffer.readDoubleLE() };
    }
    case 5:
      return {
        arrayValue: { values: nested(field.bytes ?? Buffer.alloc(0), 1).map((inner) => anyValue(inner, depth + 1)) },
      };
    case 6:
      return { kvlistValue: { values: attributes(fieldsOf(field.bytes ?? Buffer.alloc(0)), 1, depth + 1) } };
    case 7:
      return { bytesValue: field.bytes?.toString("base64") ?? "" };
    default:
      return {};
  }
}

function fieldsOf(bytes: Buffer): Field[] {
  return [...readFields(bytes)];
}

function nested(bytes: Buffer, number: number): Buffer[] {
  return fieldsOf(bytes).flatMap((field) => (field.number === number && field.bytes ? [field.bytes] : []));
}

function text(fields: readonly Field[], number: number): string {
  return fields.findLast((field) => field.number === number)?.bytes?.toString("utf8") ?? "";
}

function hex(fields: readonly Field[], number: number): string {
  return fields.findLast((field) => field.number === number)?.bytes?.toString("hex") ?? "";
}

function time(fields: readonly Field[], number: number): string {
  return String(fields.findLast((field) => field.number === number)?.fixed64 ?? 0n);
}

function integer(fields: readonly Field[], number: number): number {
  return Number(fields.findLast((field) => field.number === number)?.varint ?? 0n);
}
