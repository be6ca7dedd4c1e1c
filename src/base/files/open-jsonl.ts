/**
 * An append-only JSONL file, in which every stage keeps its records. `append` resolves when the record would survive a
 * crash of the process (it is in the kernel) and, with `sync`, of the machine. Appends made while a write is under way
 * go out together in the next write. A write that fails (a full disk) is cut back to the last good record before
 * anything else is written, so no reader sees half a line. A torn last line left by a crash is set aside in
 * `<file>.torn` and reported when the file is opened.
 */

import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { Journal } from "../../core/journal.ts";
import { type Disk, nodeDisk, ownerOnly, syncPath, writeAll } from "./disk.ts";
import { acquireLock } from "./lock.ts";
import { makeFolder } from "./make-folder.ts";
import { type ReadOptions, readJsonl } from "./read-jsonl.ts";

export interface JsonlWriter<T> {
  /** Resolves once the record is written; rejects when it could not be (a full disk), and the file stays readable. */
  append(record: T): Promise<void>;
  /** All of the records or none: they go out in one write. */
  appendAll(records: readonly T[]): Promise<void>;
  close(): Promise<void>;
  /** Bytes of a torn line that were set aside on opening; 0 for a clean file. */
  readonly tornBytes: number;
}

export interface OpenOptions {
  /** Flush to the disk itself before resolving: survives a power cut, costs milliseconds. Default false. */
  sync?: boolean;
  /** Take `<file>.lock` so that no second process writes here. Default true. */
  lock?: boolean;
  /** @internal */
  disk?: Disk;
}

/** Opens a file for appending; makes its folder, cuts off a torn end, takes the lock. */
export async function openJsonl<T>(file: string, options: OpenOptions = {}): Promise<JsonlWriter<T>> {
  const { disk = nodeDisk, sync = false } = options;
  await makeFolder(dirname(file), disk);
  const lock = options.lock === false ? null : await acquireLock(`${file}.lock`, { disk });
  try {
    const tornBytes = await setTornLineAside(disk, file);
    const handle = await disk.open(file, "a+", ownerOnly);
    const { size } = await handle.stat();
    if (sync) await syncPath(disk, dirname(file)); // the file's own name must survive too
    const writer = batchingWriter({ file, handle, size, sync }, () => lock?.release());
    return {
      append: async (record) => writer.write(lineOf(record)),
      appendAll: async (records) => writer.write(Buffer.concat(records.map(lineOf))),
      close: writer.close,
      tornBytes,
    };
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

/** Appends one record to a file that others append to as well: the lock is held for this line only. */
export async function appendLine(file: string, record: unknown): Promise<void> {
  const writer = await openJsonl(file);
  try {
    await writer.append(record);
  } finally {
    await writer.close();
  }
}

/** A journal on a JSONL file: append, and read back what earlier processes appended. */
export async function jsonlJournal<T>(
  file: string,
  schema?: z.ZodType<T>,
  options: ReadOptions = {},
): Promise<Journal<T>> {
  const writer = await openJsonl<T>(file);
  return { append: writer.append, close: writer.close, read: () => readJsonl(file, schema, options) };
}

/** Appends whole records to an open file of `size` bytes: what is written while a write is under way goes out in the next one. */
function batchingWriter(
  { file, handle, size, sync }: { file: string; handle: FileHandle; size: number; sync: boolean },
  onClose: () => Promise<void> | undefined,
) {
  let waiting: { bytes: Buffer; resolve(): void; reject(error: unknown): void }[] = [];
  let writing: Promise<void> | null = null;
  let closed = false;
  /** A write failed and what it left behind could not be cut off yet. */
  let dirty = false;

  async function cutBack(): Promise<void> {
    await handle.truncate(size);
    dirty = false;
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        if (dirty) await cutBack();
        const bytes = batch.length === 1 ? batch[0]!.bytes : Buffer.concat(batch.map((item) => item.bytes));
        dirty = true;
        await writeAll(handle, bytes);
        if (sync) await handle.datasync();
        dirty = false;
        size += bytes.length;
        for (const item of batch) item.resolve();
      } catch (error) {
        await cutBack().catch(() => {}); // tried again before the next write
        const failure = new CoaError("storage", `could not append to ${file}: ${messageOf(error)}`, {
          retryable: true,
          cause: error,
          code: (error as NodeJS.ErrnoException).code === "ENOSPC" ? "disk-full" : undefined,
        });
        for (const item of batch) item.reject(failure);
      }
    }
    writing = null;
  }

  return {
    /** Resolves once the bytes are written; all of them or none. */
    write(bytes: Buffer) {
      if (closed) return Promise.reject<void>(new CoaError("storage", `${file} is closed`));
      return new Promise<void>((resolve, reject) => {
        waiting.push({ bytes, resolve, reject });
        // Deferred by a microtask so that appends of one tick share one write.
        writing ??= Promise.resolve().then(drain);
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      await writing;
      if (dirty) await cutBack().catch(() => {}); // the next opening sets it aside
      await handle.close();
      await onClose();
    },
  };
}

function lineOf(record: unknown): Buffer {
  const text = JSON.stringify(record) as string | undefined;
  if (text === undefined) throw new CoaError("storage", `a record can't be ${typeof record}: JSON has no such value`);
  return Buffer.from(`${text}\n`);
}

/** Cuts off an unfinished last line, keeping its bytes in `<file>.torn`; returns how many there were. */
async function setTornLineAside(disk: Disk, file: string): Promise<number> {
  const handle = await disk.open(file, "r+").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (!handle) return 0;
  try {
    const { size } = await handle.stat();
    const end = await lastNewline(handle, size);
    if (end === size) return 0;
    const torn = Buffer.alloc(size - end);
    await handle.read(torn, 0, torn.length, end);
    if (isWholeRecord(torn)) {
      // A file without a last newline, or a crash just before it: nothing is missing but the newline.
      await writeAll(handle, Buffer.from("\n"), size);
      return 0;
    }
    const aside = await disk.open(`${file}.torn`, "a", ownerOnly);
    try {
      await writeAll(aside, Buffer.concat([torn, Buffer.from("\n")]));
    } finally {
      await aside.close();
    }
    await handle.truncate(end);
    return torn.length;
  } finally {
    await handle.close();
  }
}

/** Half an object or array never parses, so one that does is all there. */
function isWholeRecord(bytes: Buffer): boolean {
  try {
    return typeof JSON.parse(bytes.toString("utf8")) === "object";
  } catch {
    return false;
  }
}

/** Offset just after the last newline (0 when there is none). */
async function lastNewline(handle: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(1 << 16);
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - block.length);
    const { bytesRead } = await handle.read(block, 0, end - from, from);
    const at = block.subarray(0, bytesRead).lastIndexOf(10);
    if (at >= 0) return from + at + 1;
    end = from;
  }
  return 0;
}
