/**
 * An append-only file of records with long arrays of numbers in them (token ids, log-probabilities). A record is its length, a
 * checksum, its JSON without those arrays, and the arrays as raw little-endian bytes: a third of the size of JSON text, and no
 * number is printed or parsed. Nothing is lost: integers are kept in 4 bytes, other numbers in 4 where that is exact, else
 * in 8. A torn end left by a crash is cut off when the file is opened for appending, and ends a reading.
 */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { CoaError } from "../../core/errors.ts";
import { batchingWriter } from "./batching-writer.ts";
import { nodeDisk, ownerOnly } from "./disk.ts";
import { makeFolder } from "./make-folder.ts";

/** Arrays shorter than this stay in the JSON. */
const shortest = 8;

/** Where an array was taken from, how its numbers are kept, and how many there are. */
type Taken = [path: (string | number)[], kind: "i4" | "f4" | "f8", count: number];

/** Appends records to one file. */
export interface PackedWriter<T> {
  /** Resolves once the record would survive a crash of the process. */
  append(record: T): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for appending; a torn end is cut off. The caller sees to it that nobody else writes there. */
export async function openPackedRecords<T>(file: string): Promise<PackedWriter<T>> {
  await makeFolder(dirname(file), nodeDisk);
  const handle = await nodeDisk.open(file, "a+", ownerOnly);
  const size = wholeBytes(await handle.readFile());
  await handle.truncate(size);
  const writer = batchingWriter({ file, handle, size, sync: false }, () => undefined);
  return { append: async (record) => writer.write(packRecord(record)), close: writer.close };
}

/** All whole records of a file, in order; none where there is no file. */
export async function readPackedRecords<T>(file: string): Promise<T[]> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return Buffer.alloc(0);
    throw new CoaError("storage", `can't read ${file}: ${error.message}`, { cause: error });
  });
  return [...bodies(bytes)].map((body) => unpackBody(body) as T);
}

/** One record as bytes. */
export function packRecord(record: unknown): Buffer {
  const taken: Taken[] = [];
  const arrays: Buffer[] = [];
  const rest = takeArrays(record, [], (path, kind, values) => {
    taken.push([path, kind, values.length]);
    const typed = new { i4: Int32Array, f4: Float32Array, f8: Float64Array }[kind](values);
    arrays.push(Buffer.from(typed.buffer));
  });
  const json = Buffer.from(JSON.stringify([rest, taken]));
  const head = Buffer.alloc(12);
  const body = Buffer.concat([head.subarray(8), json, ...arrays]);
  body.writeUInt32LE(json.length, 0);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt32LE(crc32(body), 4);
  return Buffer.concat([head.subarray(0, 8), body]);
}

/** The record of bytes that hold exactly one. */
export function unpackRecord(bytes: Buffer): unknown {
  const [body, more] = bodies(bytes);
  if (!body || more || body.length + 8 !== bytes.length)
    throw new CoaError("format", "these bytes are not one whole record");
  return unpackBody(body);
}

function unpackBody(body: Buffer): unknown {
  const jsonEnd = 4 + body.readUInt32LE(0);
  const [record, taken] = JSON.parse(body.toString("utf8", 4, jsonEnd)) as [unknown, Taken[]];
  let at = jsonEnd;
  for (const [path, kind, count] of taken) {
    const width = kind === "f8" ? 8 : 4;
    const bytes = new Uint8Array(body.subarray(at, at + count * width)).buffer; // a copy: numbers must lie aligned
    const values = Array.from(new { i4: Int32Array, f4: Float32Array, f8: Float64Array }[kind](bytes));
    at += count * width;
    if (path.length === 0) return values;
    let place = record as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) place = place[key] as typeof place;
    place[path.at(-1)!] = values;
  }
  return record;
}

/** A copy of the value in which long arrays of numbers are 0. */
function takeArrays(
  value: unknown,
  path: (string | number)[],
  take: (path: (string | number)[], kind: Taken[1], values: number[]) => void,
): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const kind = value.length >= shortest ? kindOf(value) : undefined;
    if (kind) take(path, kind, value);
    return kind ? 0 : value.map((item, at) => takeArrays(item, [...path, at], take));
  }
  const entries = Object.entries(value).filter(([key]) => key !== "__proto__");
  return Object.fromEntries(entries.map(([key, item]) => [key, takeArrays(item, [...path, key], take)]));
}

function kindOf(values: readonly unknown[]): Taken[1] | undefined {
  let kind: Taken[1] = "i4";
  for (const value of values) {
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
    if (kind === "i4" && !Object.is(value | 0, value)) kind = "f4";
    if (kind === "f4" && Math.fround(value) !== value) kind = "f8";
  }
  return kind;
}

/** The bodies of whole records; what follows the first that is torn or damaged is not read. */
function* bodies(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const end = at + 8 + bytes.readUInt32LE(at);
    if (end > bytes.length) return;
    const body = bytes.subarray(at + 8, end);
    if (crc32(body) !== bytes.readUInt32LE(at + 4)) return;
    yield body;
    at = end;
  }
}

function wholeBytes(bytes: Buffer): number {
  let size = 0;
  for (const body of bodies(bytes)) size += 8 + body.length;
  return size;
}
