/**
 * An append-only JSONL file: the truth of every stage. `append` resolves when the record would survive a crash of the
 * process (it is in the kernel) and, with `sync`, of the machine. Appends made while a write is under way go out together
 * in the next write. A torn last line left by a crash is set aside in `<file>.torn` and reported when the file is opened.
 */
import { appendFile, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { Journal } from "../../core/journal.ts";
import { acquireLock } from "./lock.ts";
import { type ReadOptions, readJsonl } from "./read-jsonl.ts";

export interface JsonlWriter<T> {
  /** Resolves once the record is written; rejects when it could not be (a full disk), and the file stays readable. */
  append(record: T): Promise<void>;
  close(): Promise<void>;
  /** Bytes of a torn line that were set aside on opening; 0 for a clean file. */
  readonly tornBytes: number;
}

export interface OpenOptions {
  /** Flush to the disk itself before resolving: survives a power cut, costs milliseconds. Default false. */
  sync?: boolean;
  /** Take `<file>.lock` so that no second process writes here. Default true. */
  lock?: boolean;
}

/** Opens a file for appending; makes its folder, mends a torn end, takes the lock. */
export async function openJsonl<T>(file: string, options: OpenOptions = {}): Promise<JsonlWriter<T>> {
  await mkdir(dirname(file), { recursive: true });
  const lock = options.lock === false ? null : await acquireLock(`${file}.lock`);
  try {
    const tornBytes = await setTornLineAside(file);
    const handle = await open(file, "a");
    return { ...batchingWriter<T>(file, handle, options.sync ?? false, () => lock?.release()), tornBytes };
  } catch (error) {
    await lock?.release();
    throw error;
  }
}

/** A journal on a JSONL file: append, and read back what earlier processes appended. */
export async function jsonlJournal<T>(
  file: string,
  schema?: z.ZodType<T>,
  options: OpenOptions & ReadOptions = {},
): Promise<Journal<T>> {
  const writer = await openJsonl<T>(file, options);
  return { append: writer.append, close: writer.close, read: () => readJsonl(file, schema, options) };
}

function batchingWriter<T>(
  file: string,
  handle: Awaited<ReturnType<typeof open>>,
  sync: boolean,
  onClose: () => Promise<void> | undefined,
): Omit<JsonlWriter<T>, "tornBytes"> {
  let waiting: { line: string; resolve(): void; reject(error: unknown): void }[] = [];
  let writing: Promise<void> | null = null;
  let closed = false;
  /** After a failed write the file may end in half a line; the next write starts on a new one. */
  let needsNewline = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const bytes = Buffer.from((needsNewline ? "\n" : "") + batch.map((item) => item.line).join(""));
        for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
        if (sync) await handle.datasync();
        needsNewline = false;
        for (const item of batch) item.resolve();
      } catch (error) {
        needsNewline = true;
        const failure = new CoaError("storage", `could not append to ${file}: ${messageOf(error)}`, { cause: error });
        for (const item of batch) item.reject(failure);
      }
    }
    writing = null;
  }

  return {
    append(record) {
      if (closed) return Promise.reject(new CoaError("storage", `${file} is closed`));
      const line = `${JSON.stringify(record)}\n`;
      return new Promise<void>((resolve, reject) => {
        waiting.push({ line, resolve, reject });
        // Deferred by a microtask so that appends of one tick share one write.
        writing ??= Promise.resolve().then(drain);
      });
    },
    async close() {
      if (closed) return;
      closed = true;
      await writing;
      await handle.close();
      await onClose();
    },
  };
}

/** Cuts off an unfinished last line, keeping its bytes in `<file>.torn`; returns how many there were. */
async function setTornLineAside(file: string): Promise<number> {
  const handle = await open(file, "r+").catch((error: NodeJS.ErrnoException) => {
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
      // Somebody's file without a last newline, or a crash just before it: nothing is missing but the newline.
      await handle.write("\n", size);
      return 0;
    }
    await appendFile(`${file}.torn`, Buffer.concat([torn, Buffer.from("\n")]));
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
async function lastNewline(handle: Awaited<ReturnType<typeof open>>, size: number): Promise<number> {
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
