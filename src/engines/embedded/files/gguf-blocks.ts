/**
 * The number formats of GGUF. Quantised ones store blocks of 32 or 256 numbers: whole numbers of 4 to 8 bits with a scale, some
 * with an offset, the larger blocks with scales of their parts. Sums and products are rounded to 32 bits after each step, in the
 * order of llama.cpp's own reader, so that every number comes out bit for bit the same.
 */
import { CoaError } from "../../../core/errors.ts";
import { widenBfloat16 } from "./bfloat16.ts";

const { fround } = Math;

/** Decodes one block: `at` is where it starts in `bytes`, `out` receives its numbers from `into`. */
type ReadBlock = (view: DataView, bytes: Uint8Array, at: number, out: Float32Array, into: number) => void;

interface BlockFormat {
  name: string;
  size: number;
  bytes: number;
  read?: ReadBlock;
}

/** By the number that a file writes for it. */
const formats: Readonly<Record<number, BlockFormat>> = {
  0: { name: "f32", size: 1, bytes: 4 },
  1: { name: "f16", size: 1, bytes: 2 },
  2: { name: "q4_0", size: 32, bytes: 18, read: nibbles({ offset: false, fifthBit: false }) },
  3: { name: "q4_1", size: 32, bytes: 20, read: nibbles({ offset: true, fifthBit: false }) },
  6: { name: "q5_0", size: 32, bytes: 22, read: nibbles({ offset: false, fifthBit: true }) },
  7: { name: "q5_1", size: 32, bytes: 24, read: nibbles({ offset: true, fifthBit: true }) },
  8: { name: "q8_0", size: 32, bytes: 34, read: readQ8 },
  12: { name: "q4_k", size: 256, bytes: 144, read: scaledParts(false) },
  13: { name: "q5_k", size: 256, bytes: 176, read: scaledParts(true) },
  14: { name: "q6_k", size: 256, bytes: 210, read: readQ6K },
  30: { name: "bf16", size: 1, bytes: 2 },
};

/** The format behind a number of a file, or an error that names the tensor. */
export function blockFormat(type: number, what: string): BlockFormat {
  const format = formats[type];
  if (format) return format;
  const known = Object.values(formats).map(({ name }) => name);
  throw new CoaError("format", `${what} has number format ${type}; ${known.join(", ")} are read here`);
}

/** Decodes whole blocks to 32-bit floats. */
export function readBlocks(bytes: Uint8Array<ArrayBuffer>, format: BlockFormat): Float32Array {
  if (!format.read) {
    const copy = bytes.slice().buffer;
    if (format.name === "f32") return new Float32Array(copy);
    return format.name === "f16" ? new Float32Array(new Float16Array(copy)) : widenBfloat16(new Uint16Array(copy));
  }
  const blocks = bytes.length / format.bytes;
  const out = new Float32Array(blocks * format.size);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let block = 0; block < blocks; block++) format.read(view, bytes, block * format.bytes, out, block * format.size);
  return out;
}

/** 32 numbers of 4 or 5 bits: scale, perhaps offset, perhaps the fifth bits, then low and high halves of 16 bytes. */
function nibbles({ offset, fifthBit }: { offset: boolean; fifthBit: boolean }): ReadBlock {
  // Without an offset the whole numbers are centred on zero.
  const centre = offset ? 0 : fifthBit ? 16 : 8;
  return (view, bytes, at, out, into) => {
    const scale = view.getFloat16(at, true);
    const add = offset ? view.getFloat16(at + 2, true) : 0;
    const fifthAt = at + (offset ? 4 : 2);
    const fifth = fifthBit ? view.getUint32(fifthAt, true) : 0;
    const from = fifthAt + (fifthBit ? 4 : 0);
    for (let index = 0; index < 16; index++) {
      const byte = bytes[from + index]!;
      const low = ((byte & 15) | (((fifth >>> index) & 1) << 4)) - centre;
      const high = ((byte >> 4) | (((fifth >>> (index + 16)) & 1) << 4)) - centre;
      out[into + index] = offset ? fround(scale * low) + add : scale * low;
      out[into + 16 + index] = offset ? fround(scale * high) + add : scale * high;
    }
  };
}

function readQ8(view: DataView, _: Uint8Array, at: number, out: Float32Array, into: number): void {
  const scale = view.getFloat16(at, true);
  for (let index = 0; index < 32; index++) out[into + index] = scale * view.getInt8(at + 2 + index);
}

/** 256 numbers in eight parts of 32, each with a scale and an offset of 6 bits, packed into 12 bytes; q5_k has a fifth bit. */
function scaledParts(fifthBit: boolean): ReadBlock {
  return (view, bytes, at, out, into) => {
    const scale = view.getFloat16(at, true);
    const least = view.getFloat16(at + 2, true);
    const packed = at + 4;
    const fifthAt = at + 16;
    const from = at + (fifthBit ? 48 : 16);
    for (let part = 0; part < 8; part++) {
      const below = bytes[packed + part]!;
      const above = bytes[packed + part + 4]!;
      const early = bytes[packed + part - 4]!;
      const partScale = fround(scale * (part < 4 ? below & 63 : (above & 15) | ((early >> 6) << 4)));
      const partLeast = fround(least * (part < 4 ? above & 63 : (above >> 4) | ((below >> 6) << 4)));
      const shift = part % 2 === 0 ? 0 : 4;
      const row = from + (part >> 1) * 32;
      for (let index = 0; index < 32; index++) {
        const fifth = fifthBit ? ((bytes[fifthAt + index]! >> part) & 1) << 4 : 0;
        const whole = ((bytes[row + index]! >> shift) & 15) | fifth;
        out[into + part * 32 + index] = fround(partScale * whole) - partLeast;
      }
    }
  };
}

/** 256 numbers of 6 bits: four low bits, two high bits, sixteen scales of 8 bits and one scale for all. */
function readQ6K(view: DataView, bytes: Uint8Array, at: number, out: Float32Array, into: number): void {
  const scale = view.getFloat16(at + 208, true);
  for (let index = 0; index < 256; index++) {
    const half = index >> 7;
    const within = index & 127;
    const column = within & 31;
    const quarter = within >> 5;
    const low = (bytes[at + half * 64 + (quarter & 1) * 32 + column]! >> (quarter >> 1 === 0 ? 0 : 4)) & 15;
    const high = (bytes[at + 128 + half * 32 + column]! >> (quarter * 2)) & 3;
    const partScale = fround(scale * view.getInt8(at + 192 + (index >> 4)));
    out[into + index] = partScale * ((low | (high << 4)) - 32);
  }
}

/** Encodes as q8_0: blocks of 32 with a scale so that the largest magnitude becomes 127. */
export function writeQ8(data: Float32Array): Uint8Array {
  const { size, bytes: blockBytes } = formats[8]!;
  const bytes = Buffer.alloc((data.length / size) * blockBytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let block = 0, at = 0; block < data.length; block += size, at += blockBytes) {
    let largest = 0;
    for (let index = 0; index < size; index++) largest = Math.max(largest, Math.abs(data[block + index]!));
    const scale = largest / 127;
    view.setFloat16(at, scale, true);
    for (let index = 0; index < size; index++)
      bytes.writeInt8(scale === 0 ? 0 : Math.round(data[block + index]! / scale), at + 2 + index);
  }
  return bytes;
}
