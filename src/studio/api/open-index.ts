/**
 * The index as the handlers use it: a thread writes, this side reads, and everything that changed is an event with a
 * number. A reader that was away asks for the events after the last number it saw.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { notice } from "../../base/work/followable-log.ts";
import { startThread } from "../../base/work/thread.ts";
import { type FileRow, openIndexDatabase } from "./index-database.ts";
import type { IndexCalls, IndexMessage, IndexWork } from "./index-worker.ts";

/** Something that changed. Events of one file come merged: the newest says it all. */
export type StudioEvent = IndexMessage & { cursor: number };

/** How far the index is. */
export interface IndexState {
  ready: boolean;
  doneBytes: number;
  totalBytes: number;
}

export interface StudioIndex {
  readonly database: DatabaseSync;
  /** Grows with every change of the data. */
  readonly version: number;
  state(): IndexState;
  files(): FileRow[];
  /** Files that could not be read, with why. */
  problems(): { path: string; problem: string }[];
  /** Events after a cursor (all that is known where the cursor is not), then new ones, until the signal aborts. */
  follow(cursor: number, signal: AbortSignal): AsyncGenerator<StudioEvent>;
  /** Resolves when every file was read once. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const keptEvents = 500;

/** Starts the thread and opens the index for reading. */
export async function openStudioIndex(options: {
  database: string;
  paths: readonly string[];
  lookMs?: number;
}): Promise<StudioIndex> {
  const { database: path, paths, lookMs = 250 } = options;
  await mkdir(dirname(path), { recursive: true });
  // Made here first, so that the reader below finds its tables.
  openIndexDatabase(path).close();
  const database = openIndexDatabase(path, { readOnly: true });
  const events: StudioEvent[] = [];
  const problems = new Map<string, string>();
  const changed = notice();
  const state: IndexState = { ready: false, doneBytes: 0, totalBytes: 0 };
  const readiness = Promise.withResolvers<void>();
  let cursor = 0;
  let version = 1;
  const say = (message: IndexMessage) => {
    version++;
    if (message.type === "progress") [state.doneBytes, state.totalBytes] = [message.doneBytes, message.totalBytes];
    if (message.type === "problem") problems.set(message.path, message.message);
    else if ("path" in message) problems.delete(message.path);
    if (message.type === "idle") {
      state.ready = true;
      state.doneBytes = state.totalBytes;
      readiness.resolve();
    }
    const event = { ...message, cursor: ++cursor };
    // Only the newest event of a file (or of the progress) is kept: an older one says nothing more.
    const same = events.findIndex((one) => one.type === event.type && pathOf(one) === pathOf(event));
    if (same >= 0) events.splice(same, 1);
    events.push(event);
    if (events.length > keptEvents) events.shift();
    changed.give();
  };
  const thread = startThread<IndexCalls>(new URL("./index-worker.ts", import.meta.url), {
    name: "the thread of the index",
    boundary: "storage",
    data: { database: path, paths, lookMs } satisfies IndexWork,
    onMessage: say,
    onEnd(error) {
      say({ type: "problem", path: "", message: error.message });
      say({ type: "idle" });
    },
  });
  const release = thread.hold(); // it works without being called
  const listed = database.prepare("SELECT * FROM file ORDER BY path");
  return {
    database,
    get version() {
      return version;
    },
    state: () => ({ ...state }),
    files: () => listed.all() as unknown as FileRow[],
    problems: () => [...problems].map(([path, problem]) => ({ path, problem })),
    async *follow(after, signal) {
      for (let seen = after; !signal.aborted; ) {
        const next = events.find((event) => event.cursor > seen);
        if (!next) await changed.wait({ signal });
        else {
          seen = next.cursor;
          yield next;
        }
      }
    },
    ready: () => readiness.promise,
    async close() {
      await thread.call("stop").catch(() => {});
      release();
      await thread.close();
      database.close();
    },
  };
}

function pathOf(event: IndexMessage): string {
  return "path" in event ? event.path : "";
}

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
