/**
 * Just enough protocol buffers to write an ONNX file. A message is a list of fields; a field is its number, a wire type
 * and bytes. Nothing is ever read back: ONNX Runtime is the only reader.
 */

/** Appends the fields of one protocol buffer message. */
export interface ProtoWriter {
  integer(field: number, value: number | bigint): void;
  float(field: number, value: number): void;
  text(field: number, value: string): void;
  bytes(field: number, value: Uint8Array): void;
  message(field: number, write: (writer: ProtoWriter) => void): void;
  finish(): Uint8Array;
}

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
  return {
    integer(field, value) {
      push(varint(field << 3));
      push(varint(value));
    },
    float(field, value) {
      push(varint((field << 3) | 5));
      push(new Uint8Array(Float32Array.of(value).buffer));
    },
    text: (field, value) => bytes(field, Buffer.from(value, "utf8")),
    bytes,
    message(field, write) {
      const inner = protoWriter();
      write(inner);
      bytes(field, inner.finish());
    },
    finish() {
      const all = new Uint8Array(total);
      let offset = 0;
      for (const part of parts) {
        all.set(part, offset);
        offset += part.length;
      }
      return all;
    },
  };
}

/** Seven bits a byte, low bits first; negative numbers as 64-bit two's complement. */
function varint(value: number | bigint): Uint8Array {
  let rest = BigInt.asUintN(64, BigInt(value));
  const out: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Uint8Array.from(out);
}
