/** The part of the protobuf wire format that OTLP needs: fields of a message, one after the other, within bounds. */
import { RefusedRequest } from "../../base/http/refusal.ts";

/** One field: its number, and its value as bytes, a varint or eight fixed bytes. */
export interface Field {
  number: number;
  bytes?: Buffer;
  varint?: bigint;
  fixed64?: bigint;
}

/** Reads all fields of a message; anything outside the format is refused. */
export function* readFields(buffer: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = buffer[at++];
      if (byte === undefined) throw broken("a number ends too early");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw broken("a number is too long");
  };
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > buffer.length) throw broken("a field is longer than its message");
    at += length;
    return buffer.subarray(at - length, at);
  };
  while (at < buffer.length) {
    const key = varint();
    const number = Number(key >> 3n);
    if (number === 0) throw broken("field number 0");
    switch (Number(key & 7n)) {
      case 0:
        yield { number, varint: varint() };
        break;
      case 1:
        yield { number, fixed64: take(8).readBigUInt64LE() };
        break;
      case 2: {
        const length = varint();
        if (length > BigInt(buffer.length)) throw broken("a field is longer than its message");
        yield { number, bytes: take(Number(length)) };
        break;
      }
      case 5:
        take(4);
        break;
      default:
        throw broken(`wire type ${key & 7n}`);
    }
  }
}

function broken(what: string): RefusedRequest {
  return new RefusedRequest(400, `not valid protobuf: ${what}`);
}
