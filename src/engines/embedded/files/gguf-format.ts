/**
 * The GGUF container of llama.cpp: a header, typed key-value metadata, a table of tensors, and their numbers, each
 * aligned. Dimensions are written innermost first. This file knows the container; the number formats are in
 * `formats` below, what the keys and names mean is in `gguf-model.ts`.
 */
import { open } from "node:fs/promises";
import { writeAll } from "../../../base/files/disk.ts";
import { writeFileAtomically } from "../../../base/files/write-file.ts";
import { CoaError, messageOf } from "../../../core/errors.ts";
import { elementCount, type Parameter, type ParameterSet } from "../model/parameter-set.ts";
import { readRange, widenBfloat16 } from "./safetensors.ts";

/** The number formats that are written here. */
export type GgufType = "f32" | "f16" | "q8_0";
export type GgufValue =
  | { type: "u32" | "i32" | "f32"; value: number }
  | { type: "bool"; value: boolean }
  | { type: "string"; value: string }
  | { type: "strings"; value: readonly string[] }
  | { type: "i32s"; value: readonly number[] };

export type GgufMetadata = Map<string, number | boolean | string | (number | boolean | string)[]>;

const magic = 0x46554747;
const alignment = 32;
const typeNumber: Record<GgufType, number> = { f32: 0, f16: 1, q8_0: 8 };
const valueNumber = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;

/** One tensor to be written, in the format wanted. */
export interface GgufTensor extends Parameter {
  type: GgufType;
}

/** Writes a GGUF file, all or nothing. */
export async function writeGguf(
  path: string,
  metadata: ReadonlyMap<string, GgufValue>,
  tensors: ReadonlyMap<string, GgufTensor>,
): Promise<void> {
  const parts: Buffer[] = [];
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value >>> 0);
    parts.push(bytes);
  };
  const u64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    parts.push(bytes);
  };
  const text = (value: string) => {
    const bytes = Buffer.from(value, "utf8");
    u64(bytes.length);
    parts.push(bytes);
  };
  const float = (value: number) => parts.push(Buffer.from(Float32Array.of(value).buffer));
  u32(magic);
  u32(3);
  u64(tensors.size);
  u64(metadata.size);
  for (const [key, entry] of metadata) {
    text(key);
    if (entry.type === "strings" || entry.type === "i32s") {
      u32(valueNumber.array);
      u32(entry.type === "strings" ? valueNumber.string : valueNumber.i32);
      u64(entry.value.length);
      for (const item of entry.value) typeof item === "string" ? text(item) : u32(item);
      continue;
    }
    u32(valueNumber[entry.type]);
    if (entry.type === "string") text(entry.value);
    else if (entry.type === "bool") parts.push(Buffer.of(entry.value ? 1 : 0));
    else if (entry.type === "f32") float(entry.value);
    else u32(entry.value);
  }
  let offset = 0;
  for (const [name, { shape, type }] of tensors) {
    text(name);
    u32(shape.length);
    for (const size of [...shape].reverse()) u64(size);
    u32(typeNumber[type]);
    u64(offset);
    offset += padded(byteLength(elementCount(shape), type));
  }
  const head = Buffer.concat(parts);
  await writeFileAtomically(path, async (file) => {
    await writeAll(file, head);
    await writeAll(file, Buffer.alloc(padded(head.length) - head.length));
    for (const { data, type } of tensors.values()) {
      const bytes = encode(data, type);
      await writeAll(file, bytes);
      await writeAll(file, Buffer.alloc(padded(bytes.length) - bytes.length));
    }
  });
}

const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

function byteLength(count: number, type: GgufType): number {
  const { size, bytes } = blockFormat(typeNumber[type], type);
  return (count / size) * bytes;
}

function encode(data: Float32Array, type: GgufType): Uint8Array {
  if (type === "f32") return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return type === "f16" ? new Uint8Array(new Float16Array(data).buffer) : writeQ8(data);
}

/** Most of a file is numbers; what it says of itself lies in its first megabytes, also where a large vocabulary is among it. */
const headBytes = 64 * 2 ** 20;

/** Reads what a GGUF file says of itself. A tensor's numbers are read each time its `data` is asked for, and kept by none. */
export async function readGguf(path: string): Promise<{ metadata: GgufMetadata; tensors: ParameterSet }> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(Math.min(size, headBytes));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      return parseGguf(bytes.subarray(0, bytesRead), size, path);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof CoaError) throw error;
    const system = (error as NodeJS.ErrnoException).syscall !== undefined;
    if (system) throw new CoaError("storage", `can't read ${path}: ${messageOf(error)}`, { cause: error });
    throw new CoaError("format", `${path} is not a whole GGUF file: ${messageOf(error)}`, { cause: error });
  }
}

interface TensorInfo {
  name: string;
  shape: number[];
  type: number;
  offset: number;
}

function parseHeader(bytes: Buffer, path: string): { metadata: GgufMetadata; infos: TensorInfo[]; end: number } {
  let at = 0;
  const u32 = () => bytes.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(bytes.readBigUInt64LE((at += 8) - 8));
  const text = () => {
    const length = u64();
    if (at + length > bytes.length) throw new Error(`a string of ${length} bytes at ${at} goes beyond its end`);
    return bytes.toString("utf8", at, (at += length));
  };
  const scalars: Record<number, () => number | boolean | string> = {
    0: () => bytes.readUInt8(at++),
    1: () => bytes.readInt8(at++),
    2: () => bytes.readUInt16LE((at += 2) - 2),
    3: () => bytes.readInt16LE((at += 2) - 2),
    4: u32,
    5: () => bytes.readInt32LE((at += 4) - 4),
    6: () => bytes.readFloatLE((at += 4) - 4),
    7: () => bytes.readUInt8(at++) !== 0,
    8: text,
    10: u64,
    11: () => Number(bytes.readBigInt64LE((at += 8) - 8)),
    12: () => bytes.readDoubleLE((at += 8) - 8),
  };
  const scalar = (type: number) => {
    const read = scalars[type];
    if (!read) throw new Error(`unknown value type ${type} at byte ${at}`);
    return read();
  };
  if (u32() !== magic) throw new CoaError("format", `${path} is not a GGUF file: it doesn't start with GGUF`);
  const version = u32();
  if (version !== 2 && version !== 3)
    throw new CoaError("format", `${path} is GGUF version ${version}; 2 and 3 are read here`);
  const tensorCount = u64();
  const keyCount = u64();
  const metadata: GgufMetadata = new Map();
  for (let index = 0; index < keyCount; index++) {
    const key = text();
    const type = u32();
    if (type !== valueNumber.array) metadata.set(key, scalar(type));
    else {
      const itemType = u32();
      const count = u64();
      if (count > bytes.length) throw new Error(`${key} claims ${count} items`);
      metadata.set(
        key,
        Array.from({ length: count }, () => scalar(itemType)),
      );
    }
  }
  const infos = Array.from({ length: Math.min(tensorCount, bytes.length) }, () => {
    const name = text();
    const shape = Array.from({ length: Math.min(u32(), 8) }, u64).reverse();
    return { name, shape, type: u32(), offset: u64() };
  });
  return { metadata, infos, end: at };
}

function parseGguf(head: Buffer, fileBytes: number, path: string) {
  const { metadata, infos, end } = parseHeader(head, path);
  const unit = Number(metadata.get("general.alignment") ?? alignment);
  const start = Math.ceil(end / unit) * unit;
  const tensors: ParameterSet = new Map();
  for (const { name, shape, type, offset } of infos)
    tensors.set(name, lazyTensor(path, `tensor ${name} in ${path}`, shape, type, start + offset, fileBytes));
  return { metadata, tensors };
}

function lazyTensor(
  path: string,
  what: string,
  shape: number[],
  type: number,
  start: number,
  fileBytes: number,
): Parameter {
  const format = blockFormat(type, what);
  const length = (elementCount(shape) / format.size) * format.bytes;
  if (!Number.isSafeInteger(length))
    throw new CoaError("format", `${what}: its shape [${shape}] holds no whole blocks`);
  if (start + length > fileBytes)
    throw new CoaError(
      "format",
      `${what} ends at byte ${start + length} but the file has ${fileBytes}; it is truncated`,
    );
  return {
    shape,
    get data() {
      return readBlocks(readRange(path, start, length, what), format);
    },
  };
}

const { fround } = Math;

/** Decodes one block: `at` is where it starts in `bytes`, `out` receives its numbers from `into`. */
type ReadBlock = (view: DataView, bytes: Uint8Array, at: number, out: Float32Array, into: number) => void;

interface BlockFormat {
  name: string;
  size: number;
  bytes: number;
  read?: ReadBlock;
}

/**
 * By the number that a file writes for it. Sums and products are rounded to 32 bits after each step, in the order of llama.cpp's
 * own reader, so that every number comes out bit for bit the same.
 */
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
