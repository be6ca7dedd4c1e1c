/**
 * A safetensors file is a length, a JSON header (name -> type, shape, byte range), and raw little-endian numbers. What is
 * read becomes 32-bit floats whatever it was stored as; what is written is stored as asked. The header is checked
 * against the file before a number is read, so a truncated download says which tensor is missing bytes, and nothing is
 * allocated for a range that is not there.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { writeAll } from "../../../base/files/disk.ts";
import { writeFileAtomically } from "../../../base/files/write-file.ts";
import { CoaError, messageOf } from "../../../core/errors.ts";
import { elementCount, type ParameterSet } from "../model/parameter-set.ts";

/** How the numbers of a tensor are stored. */
export type TensorType = "f32" | "f16" | "bf16";

const bytesPerNumber: Record<string, number> = { F32: 4, F16: 2, BF16: 2, F64: 8 };
const maxHeaderBytes = 100_000_000;

/** Where one tensor lies in its file. */
export interface TensorEntry {
  dtype: string;
  shape: number[];
  /** Absolute byte range in the file. */
  start: number;
  end: number;
}

export interface SafetensorsHeader {
  tensors: Map<string, TensorEntry>;
  metadata: Record<string, string>;
}

/** Reads the header alone: names, types and shapes, checked against the file's size. */
export async function readSafetensorsHeader(path: string): Promise<SafetensorsHeader> {
  const file = await openFile(path);
  try {
    return await headerOf(file, path);
  } finally {
    await file.close();
  }
}

/**
 * Reads the named tensors (all of them when `names` is absent) as 32-bit floats. With `later` their numbers are read whenever they
 * are asked for, and not kept.
 */
export async function readSafetensors(
  path: string,
  names?: ReadonlySet<string>,
  { later = false } = {},
): Promise<{ tensors: ParameterSet; metadata: Record<string, string> }> {
  const file = await openFile(path);
  try {
    const header = await headerOf(file, path);
    const tensors: ParameterSet = new Map();
    for (const [name, entry] of header.tensors) {
      if (names && !names.has(name)) continue;
      const { shape } = entry;
      const what = `tensor ${name} in ${path}`;
      const count = elementCount(shape);
      const read = (start: number, end: number) => readNumbers(path, entry, what, start, end);
      if (!later) tensors.set(name, { shape, data: readNumbers(file.fd, entry, what, 0, count) });
      else
        tensors.set(name, {
          shape,
          read,
          get data() {
            return read(0, count);
          },
        });
    }
    return { tensors, metadata: header.metadata };
  } finally {
    await file.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  return open(path, "r").catch((error) => {
    throw new CoaError("storage", `can't open the weights ${path}: ${messageOf(error)}`, { cause: error });
  });
}

async function headerOf(file: FileHandle, path: string): Promise<SafetensorsHeader> {
  const { size } = await file.stat();
  const broken = (what: string): never => {
    throw new CoaError("format", `${path} is not a whole safetensors file: ${what}`);
  };
  if (size < 8) broken(`it has ${size} bytes, too few for the header's length`);
  const lengthBytes = Buffer.alloc(8);
  await file.read(lengthBytes, 0, 8, 0);
  const length = Number(lengthBytes.readBigUInt64LE(0));
  if (length > maxHeaderBytes || 8 + length > size) broken(`it claims a header of ${length} bytes in ${size}`);
  const headerBytes = Buffer.alloc(length);
  await file.read(headerBytes, 0, length, 8);
  let parsed: Record<string, unknown> = {};
  try {
    parsed = JSON.parse(headerBytes.toString("utf8"));
  } catch (error) {
    broken(`its header is not JSON (${messageOf(error)})`);
  }
  const header: SafetensorsHeader = { tensors: new Map(), metadata: {} };
  for (const [name, value] of Object.entries(parsed)) {
    if (name === "__metadata__") header.metadata = value as Record<string, string>;
    else header.tensors.set(name, checkEntry(name, value, 8 + length, size, path));
  }
  return header;
}

function checkEntry(name: string, value: unknown, base: number, size: number, path: string): TensorEntry {
  const entry = value as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  const refuse = (what: string): never => {
    throw new CoaError("format", `tensor ${name} in ${path}: ${what}`);
  };
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  if (typeof dtype !== "string" || !isSizes(shape) || !isSizes(offsets) || offsets.length !== 2)
    return refuse("its header entry has no dtype, shape or data_offsets");
  const [from, to] = offsets as [number, number];
  if (base + to > size)
    refuse(`its numbers end at byte ${base + to} but the file has ${size}; the file is truncated, fetch it again`);
  const width = bytesPerNumber[dtype];
  if (width !== undefined && to - from !== width * elementCount(shape))
    refuse(`shape [${shape}] of ${dtype} does not fit its ${to - from} bytes`);
  return { dtype, shape: [...shape], start: base + from, end: base + to };
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

function readNumbers(
  file: string | number,
  { dtype, start: at }: TensorEntry,
  what: string,
  start: number,
  end: number,
): Float32Array {
  const width = bytesPerNumber[dtype];
  if (width === undefined)
    throw new CoaError("format", `${what} is stored as ${dtype}; F32, F16 and BF16 are read here`);
  const { buffer } = readRange(file, at + start * width, (end - start) * width, what);
  if (dtype === "F16") return new Float32Array(new Float16Array(buffer));
  if (dtype === "BF16") return widenBfloat16(new Uint16Array(buffer));
  if (dtype === "F64") return Float32Array.from(new Float64Array(buffer));
  return new Float32Array(buffer);
}

/** So many bytes of a file, which is open or is opened for it. */
export function readRange(file: string | number, start: number, length: number, what: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const descriptor = typeof file === "number" ? file : openSync(file, "r");
  try {
    for (let done = 0; done < length; ) {
      const count = readSync(descriptor, bytes, done, Math.min(length - done, 2 ** 30), start + done);
      if (count === 0) throw new CoaError("format", `${what} ends early, at ${done} of ${length} bytes`);
      done += count;
    }
    return bytes;
  } finally {
    if (descriptor !== file) closeSync(descriptor);
  }
}

/** The bytes of a tensor, stored as `type`. */
function tensorBytes(data: Float32Array, type: TensorType): Uint8Array {
  if (type === "f32") return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array(type === "f16" ? new Float16Array(data).buffer : narrowBfloat16(data).buffer);
}

/** Writes tensors in the map's order, all or nothing; each one's numbers are read once, when they are written. */
export async function writeSafetensors(
  path: string,
  tensors: Readonly<ParameterSet>,
  options: { type?: TensorType; metadata?: Record<string, string> } = {},
): Promise<void> {
  const type = options.type ?? "f32";
  const width = type === "f32" ? 4 : 2;
  const header: Record<string, unknown> = { __metadata__: { format: "pt", ...options.metadata } };
  let offset = 0;
  for (const [name, { shape }] of tensors) {
    const end = offset + elementCount(shape) * width;
    header[name] = { dtype: type.toUpperCase(), shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(header));
  // Numbers start at a multiple of 8, so that readers may map the file and point into it.
  const head = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, " ");
  head.writeBigUInt64LE(BigInt(head.length - 8), 0);
  json.copy(head, 8);
  await writeFileAtomically(path, async (file) => {
    await writeAll(file, head);
    for (const { data } of tensors.values()) await writeAll(file, tensorBytes(data, type));
  });
}

/** Widens bf16 bits; exact, since every bf16 is a 32-bit float. */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = bits[i]! << 16;
  return new Float32Array(words.buffer);
}

/** The nearest bf16 bits of each number. */
function narrowBfloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const words = new Uint32Array(Float32Array.from(values).buffer);
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const word = words[i]!;
    // Not a number stays so: its upper half alone could be an infinity.
    bits[i] = Number.isNaN(values[i]!) ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return bits;
}
