/** The catalog as readers use it: a thread writes, this side reads, and what changed is told to those who listen. */
import { closeSync, openSync, readSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { startThread } from "../../base/work/thread.ts";
import { type FileRow, openCatalogDatabase } from "./catalog-database.ts";
import type { CatalogCalls, CatalogEvent, CatalogWork } from "./catalog-worker.ts";

/** Starts the thread and opens the catalog for reading. */
export async function openCatalog(path: string, paths: readonly string[], lookMs = 250) {
  await mkdir(dirname(path), { recursive: true });
  // Made here first, so that the reader below finds its tables.
  openCatalogDatabase(path).close();
  const database = openCatalogDatabase(path, { readOnly: true });
  const problems = new Map<string, string>();
  const listeners = new Set<(event: CatalogEvent) => void>();
  const readiness = Promise.withResolvers<void>();
  let [version, isReady] = [1, false];
  const tell = (event: CatalogEvent) => {
    version++;
    if (event.type === "problem") problems.set(event.path, event.message);
    else if ("path" in event) problems.delete(event.path);
    if (event.type === "idle") {
      isReady = true;
      readiness.resolve();
    }
    for (const listener of listeners) listener(event);
  };
  const thread = startThread<CatalogCalls>(new URL("./catalog-worker.ts", import.meta.url), {
    name: "the thread of the catalog",
    boundary: "storage",
    data: { database: path, paths, lookMs } satisfies CatalogWork,
    onMessage: tell,
    onEnd(error) {
      tell({ type: "problem", path: "", message: error.message });
      tell({ type: "idle" });
    },
  });
  const release = thread.hold(); // it works without being called
  const listed = database.prepare("SELECT * FROM file ORDER BY path");
  return {
    database,
    /** Grows with every change of the data. */
    get version() {
      return version;
    },
    /** Every file was read once. */
    get isReady() {
      return isReady;
    },
    files: () => listed.all() as unknown as FileRow[],
    /** Files that could not be read, with why. */
    problems: () => [...problems].map(([path, problem]) => ({ path, problem })),
    /** Calls back at every event until the returned function is called. */
    onEvent(listener: (event: CatalogEvent) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Resolves when every file was read once. */
    ready: () => readiness.promise,
    async close() {
      await thread.call("stop").catch(() => {});
      release();
      await thread.close();
      database.close();
    },
  };
}

export type Catalog = Awaited<ReturnType<typeof openCatalog>>;

/** The bytes of a file between two places. */
export function readRange(path: string, offset: number, length: number): Buffer {
  const handle = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(handle, bytes, 0, length, offset));
  } finally {
    closeSync(handle);
  }
}
