/** File layers for chaos tests: a disk that is full when told, and one that records what was done, to be replayed in part. */
import type { FileHandle } from "node:fs/promises";
import * as files from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Disk } from "../../src/base/files/disk.ts";

const writes = new Set(["write", "truncate", "sync", "datasync"]);

/** A handle whose writing calls pass through `around`. */
function wrapHandle(
  handle: FileHandle,
  around: (name: string, args: unknown[], run: () => Promise<unknown>) => Promise<unknown>,
): FileHandle {
  return new Proxy(handle, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== "function") return value;
      const bound = (value as (...args: unknown[]) => Promise<unknown>).bind(target);
      if (typeof name !== "string" || !writes.has(name)) return bound;
      return (...args: unknown[]) => around(name, args, () => bound(...args));
    },
  });
}

/** A disk on which the writes that `isFull` names fail with ENOSPC, half of the bytes written. */
export function fullDisk(isFull: (write: number) => boolean): Disk & { writes(): number } {
  let count = 0;
  return {
    ...files,
    writes: () => count,
    open: async (...args: Parameters<typeof files.open>) => {
      const handle = await files.open(...args);
      return wrapHandle(handle, async (name, given, run) => {
        if (name !== "write" || !isFull(count++)) return run();
        const [bytes, offset, length, position] = given as [Uint8Array, number, number | undefined, number | null];
        const half = Math.floor((length ?? bytes.length - offset) / 2);
        await handle.write(bytes, offset, half, position ?? null);
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      });
    },
  } as never;
}

type Operation =
  | { kind: "create" | "sync" | "rm" | "mkdir"; path: string }
  | { kind: "write"; path: string; at: number; bytes: Buffer }
  | { kind: "truncate"; path: string; size: number }
  | { kind: "rename" | "link"; path: string; to: string };

/** A disk that remembers every change under `root`, with marks of what had been acknowledged when. */
export function recordingDisk(root: string): Disk & { operations: Operation[]; replay: typeof replay } {
  const operations: Operation[] = [];
  const place = (path: string) => relative(root, path);
  return {
    ...files,
    operations,
    replay,
    open: async (path: string, flags: string) => {
      const existed = await files.access(path).then(
        () => true,
        () => false,
      );
      const handle = await files.open(path, flags);
      if (!existed) operations.push({ kind: "create", path: place(path) });
      return wrapHandle(handle, async (name, given, run) => {
        const { size } = await handle.stat();
        const result = await run();
        if (name === "write") {
          const [bytes, offset = 0, length = bytes.length - offset, position] = given as [
            Buffer,
            number?,
            number?,
            number?,
          ];
          const at = position ?? size;
          operations.push({
            kind: "write",
            path: place(path),
            at,
            bytes: Buffer.from(bytes.subarray(offset, offset + length)),
          });
        } else if (name === "truncate")
          operations.push({ kind: "truncate", path: place(path), size: given[0] as number });
        else operations.push({ kind: "sync", path: place(path) });
        return result;
      });
    },
    rename: async (from: string, to: string) => {
      await files.rename(from, to);
      operations.push({ kind: "rename", path: place(from), to: place(to) });
    },
    link: async (from: string, to: string) => {
      await files.link(from, to);
      operations.push({ kind: "link", path: place(from), to: place(to) });
    },
    rm: async (path: string, options: object) => {
      await files.rm(path, options);
      operations.push({ kind: "rm", path: place(path) });
    },
    mkdir: async (path: string, options: object) => {
      const made = await files.mkdir(path, options);
      operations.push({ kind: "mkdir", path: place(path) });
      return made;
    },
  } as never;
}

/**
 * Makes in `folder` what a power cut after the first `count` operations leaves. With `lost`, bytes that were never
 * flushed are gone, though the names are there: what file systems may do.
 */
async function replay(operations: readonly Operation[], count: number, folder: string, lost: boolean): Promise<void> {
  const done = operations.slice(0, count);
  const flushed = (index: number, path: string) => {
    for (let at = index; at < done.length; at++) {
      const operation = done[at]!;
      if (operation.kind === "sync" && operation.path === path) return true;
    }
    return false;
  };
  for (const [index, operation] of done.entries()) {
    const path = join(folder, operation.path);
    await files.mkdir(dirname(path), { recursive: true });
    if (operation.kind === "mkdir") await files.mkdir(path, { recursive: true });
    else if (operation.kind === "create") await files.appendFile(path, "");
    else if (operation.kind === "rm") await files.rm(path, { recursive: true, force: true });
    else if (operation.kind === "truncate") await files.truncate(path, operation.size);
    else if (operation.kind === "rename") await files.rename(path, join(folder, operation.to));
    else if (operation.kind === "link") await files.link(path, join(folder, operation.to));
    else if (operation.kind === "write" && !(lost && !flushed(index, operation.path))) {
      const handle = await files.open(path, "r+");
      await handle.write(operation.bytes, 0, operation.bytes.length, operation.at);
      await handle.close();
    }
  }
}
