/**
 * Appends to one open file: what is written while a write is under way goes out together in the next one. A write that
 * fails (a full disk) is cut back to the last good byte before anything else is written, so no reader sees half a
 * record.
 */
import type { FileHandle } from "node:fs/promises";
import { CoaError, messageOf } from "../../core/errors.ts";
import { writeAll } from "./disk.ts";

export interface OpenFile {
  file: string;
  handle: FileHandle;
  /** Bytes of whole records: everything up to here was acknowledged or found on opening. */
  size: number;
  /** Flush to the disk itself before a write resolves. */
  sync: boolean;
}

/** Writes whole records to the end of a file. */
export interface BatchingWriter {
  /** Resolves once the bytes are written; all of them or none. */
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** A writer over an open file; `onClose` follows the closing of the file. */
export function batchingWriter(
  { file, handle, size, sync }: OpenFile,
  onClose: () => Promise<void> | undefined,
): BatchingWriter {
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
    write(bytes) {
      if (closed) return Promise.reject(new CoaError("storage", `${file} is closed`));
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
