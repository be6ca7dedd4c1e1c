/**
 * Just enough protocol buffers: a message is a list of fields; a field is its number, a wire type and bytes. ONNX graphs are
 * written with it; Tinker's messages are written and read, and those of OpenTelemetry read.
 */
import { CoaError } from "../../core/errors.ts";

/** Appends the fields of one protocol buffer message. */
export interface ProtoWriter {
  integer(field: number, value: number | bigint): void;
  float(field: number, value: number): void;
  double(field: number, value: number): void;
  text(field: number, value: string): void;
  bytes(field: number, value: Uint8Array): void;
  message(field: number, write: (writer: ProtoWriter) => void): void;
  finish(): Uint8Array<ArrayBuffer>;
}

const nothing = new Uint8Array();

/** Starts an empty message. */
export function protoWriter(): ProtoWriter {
  const parts: Uint8Array[] = [];
  let total = 0;
  const push = (part: Uint8Array) => {
    parts.push(part);
    total += part.length;
  };
  const bytes = (field: number, value: Uint8Array) => {
    push(varint((field << 3) | 2));
    push(varint(value.length));
    push(value);
  };
  const writer: ProtoWriter = {
    integer(field, value) {
      push(varint(field << 3));
      push(varint(value));
    },
    float(field, value) {
      push(varint((field << 3) | 5));
      push(new Uint8Array(Float32Array.of(value).buffer));
    },
    double(field, value) {
      push(varint((field << 3) | 1));
      push(new Uint8Array(Float64Array.of(value).buffer));
    },
    text: (field, value) => bytes(field, Buffer.from(value, "utf8")),
    bytes,
    // Its parts follow its length, which is put in afterwards: joined at every level, weights would be copied each time; left
    // apart, thousands of tiny parts would take far more memory than what they hold.
    message(field, write) {
      push(varint((field << 3) | 2));
      const [at, before] = [parts.push(nothing) - 1, total];
      write(writer);
      const size = total - before;
      parts[at] = varint(size);
      total += parts[at].length;
      if (size < 4096) parts.push(join(parts.splice(at + 1), size));
    },
    finish: () => join(parts, total),
  };
  return writer;
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}

/** Seven bits a byte, low bits first; negative numbers as 64-bit two's complement. */
export function varint(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Uint8Array.from(out);
}

export interface ProtoField {
  field: number;
  /** A varint, a float or a double. */
  number: number;
  /** The same varint, exact beyond 2^53 too. */
  integer: bigint;
  /** What is neither; of a double and a float their own bytes. */
  bytes: Uint8Array;
}

/** Reads the fields of a message in their order; bytes are views, not copies. */
export function* protoFields(message: Uint8Array): Generator<ProtoField> {
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  let at = 0;
  const varintAt = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= message.length) break;
      const byte = message[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new CoaError("format", "the protobuf message ends in the middle of a number");
  };
  const take = (length: number): Uint8Array => {
    if (length < 0 || at + length > message.length)
      throw new CoaError("format", `the protobuf message ends ${at + length - message.length} bytes too early`);
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = Number(varintAt());
    const field = Math.floor(key / 8);
    const kind = key & 7;
    if (field <= 0) throw new CoaError("format", `the protobuf message has a field with the number ${field}`);
    const start = at;
    if (kind === 0) {
      const integer = varintAt();
      yield { field, number: Number(integer), integer, bytes: nothing };
    } else if (kind === 1) {
      const bytes = take(8);
      yield { field, number: view.getFloat64(start, true), integer: 0n, bytes };
    } else if (kind === 5) {
      const bytes = take(4);
      yield { field, number: view.getFloat32(start, true), integer: 0n, bytes };
    } else if (kind === 2) yield { field, number: 0, integer: 0n, bytes: take(Number(varintAt())) };
    else throw new CoaError("format", `the protobuf message has a field of unknown kind ${kind}`);
  }
}
