/**
 * The thread that keeps the catalog: looks at the files again and again, reads what is new, and says what it did. New files
 * are looked for now and then, known ones at every look, so that a live run is seen within a quarter of a second.
 */
import { statSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { answerCalls, postFromThread } from "../../base/work/thread.ts";
import { messageOf } from "../../core/errors.ts";
import { openCatalogDatabase } from "./catalog-database.ts";
import { fileCataloguer, findFiles, type SeenFile } from "./catalog-file.ts";

export interface CatalogWork {
  database: string;
  paths: readonly string[];
  lookMs: number;
}

/** What it tells: a file has changed, how far the whole is, or that every file is read. */
export type CatalogEvent =
  | { type: "file"; path: string; size: number; lines: number; kind: string }
  | { type: "progress"; doneBytes: number; totalBytes: number }
  | { type: "idle" }
  | { type: "gone"; path: string }
  | { type: "problem"; path: string; message: string };

const looksBetweenSearches = 8;
const { database: path, paths, lookMs } = workerData as CatalogWork;
const database = openCatalogDatabase(path);
const cataloguer = fileCataloguer(database);
const tell = (event: CatalogEvent) => postFromThread(event);
let files: SeenFile[] = [];
let looks = 0;
let stopped = false;
const ended = Promise.withResolvers<void>();
const calls = {
  /** Answered when the database is closed. */
  stop() {
    stopped = true;
    return ended.promise;
  },
};
answerCalls(calls);

export type CatalogCalls = typeof calls;

function searchFiles(): void {
  const before = new Set(files.map((file) => file.path));
  files = findFiles(paths);
  if (looks === 0) {
    for (const { path } of database.prepare("SELECT path FROM file").all() as { path: string }[]) before.add(path);
  }
  for (const { path } of files) before.delete(path);
  for (const gone of before) {
    cataloguer.forget(gone);
    tell({ type: "gone", path: gone });
  }
}

async function look(): Promise<void> {
  if (looks % looksBetweenSearches === 0) searchFiles();
  else files = files.map((file) => freshStat(file));
  looks++;
  const totalBytes = files.reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  let changed = looks === 1;
  // Small files first: the shape of a workspace is known before its largest file is read.
  for (const file of [...files].sort((a, b) => a.size - b.size)) {
    if (stopped) return;
    try {
      const isNew = cataloguer.update(file, (row) => {
        tell({ type: "file", path: row.path, size: row.size, lines: row.lines, kind: row.kind });
        if (totalBytes > blockOfProgress) tell({ type: "progress", doneBytes: before + row.indexed, totalBytes });
      });
      changed ||= isNew;
    } catch (error) {
      tell({ type: "problem", path: file.path, message: messageOf(error) });
    }
    before += file.size;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (changed) tell({ type: "idle" });
}

const blockOfProgress = 1 << 22;

function freshStat(file: SeenFile): SeenFile {
  const stat = statSync(file.path, { throwIfNoEntry: false });
  return stat ? { path: file.path, size: stat.size, mtime: stat.mtimeMs } : file;
}

while (!stopped) {
  await look();
  await new Promise((resolve) => setTimeout(resolve, lookMs));
}
database.close();
ended.resolve();
