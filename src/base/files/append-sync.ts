/** The same promise as `openJsonl` for code that can't wait: a recorder inside another program. */
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ownerOnly } from "./disk.ts";

/** Appends records before it returns; throws when they could not be written, and leaves the file as it was. */
export function syncJsonl<T>(file: string): { appendAll(records: readonly T[]): void; close(): void } {
  mkdirSync(dirname(file), { recursive: true });
  const handle = openSync(file, "a+", ownerOnly);
  let { size } = fstatSync(handle);
  let dirty = false;
  return {
    appendAll(records) {
      if (dirty) ftruncateSync(handle, size);
      const bytes = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
      dirty = true;
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      } catch (error) {
        try {
          ftruncateSync(handle, size);
          dirty = false;
        } catch {} // tried again before the next write
        throw error;
      }
      dirty = false;
      size += bytes.length;
    },
    close: () => closeSync(handle),
  };
}
