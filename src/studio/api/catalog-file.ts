/**
 * Brings the catalog up to date with one file: the lines after those it knows, in chunks, each chunk one transaction. A
 * file that was replaced (another beginning, or shorter than before) is indexed again; one that has grown only from its
 * old end.
 */
import { closeSync, type Dirent, openSync, readdirSync, readSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { lineCutter } from "../../base/files/lines.ts";
import { type FileKind, fileKindOf, recordIn } from "../../base/files/record-kind.ts";
import { budgets } from "../../core/budget.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import type { FileRow } from "./catalog-database.ts";
import { catalogRow } from "./catalog-row.ts";

const blockBytes = 1 << 22;
const headBytes = 256;
const chunkLines = 2_000;

const columns = [
  "file", "line", "offset", "length", "kind", "key", "taskId", "question", "system", "origin", "family", "ending",
  "reward", "answer", "moves", "toolCalls", "billed", "computed", "violations", "runId", "step", "rollout",
]; // biome-ignore format: a list

/** Kinds whose lines hold runs, chains or examples; of all others only the file itself is known. */
const indexedKinds = new Set<string>(["runs", "chains", "rollouts", "examples"] satisfies FileKind[]);

/** Prepares the statements over an open database. */
export function fileCataloguer(database: DatabaseSync) {
  const known = database.prepare("SELECT * FROM file WHERE path = ?");
  const insertFile = database.prepare(
    "INSERT INTO file (path, kind, size, mtime, head, indexed, lines, bad) VALUES (?, 'other', 0, 0, ?, 0, 0, 0)",
  );
  const saveFile = database.prepare(
    "UPDATE file SET kind = :kind, size = :size, mtime = :mtime, indexed = :indexed, lines = :lines, bad = :bad, problem = :problem WHERE id = :id",
  );
  const insertItem = database.prepare(
    `INSERT INTO item (${columns.join(", ")}) VALUES (${columns.map((name) => `:${name}`).join(", ")})`,
  );
  const insertWords = database.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)");

  function forget(path: string): void {
    const row = known.get(path) as unknown as FileRow | undefined;
    if (!row) return;
    // exec, because the row id that deleting from the full text reports does not fit into a number.
    database.exec(`BEGIN; DELETE FROM words WHERE rowid IN (SELECT id FROM item WHERE file = ${row.id});
      DELETE FROM item WHERE file = ${row.id}; DELETE FROM file WHERE id = ${row.id}; COMMIT;`);
  }

  /** One line: a record, or something that is counted as bad. */
  function take(file: FileRow, text: string, length: number): void {
    const [line, offset] = [++file.lines, file.indexed];
    if (text.trim() === "") return;
    try {
      const value: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
      if (file.kind === "other") file.kind = fileKindOf(value);
      if (!indexedKinds.has(file.kind)) return;
      const found = recordIn(value);
      if (!found) throw new Error("neither a run nor a chain");
      const { text: words, ...row } = catalogRow(found);
      const { lastInsertRowid } = insertItem.run({ ...row, file: file.id, line, offset, length });
      insertWords.run(lastInsertRowid, words);
    } catch (error) {
      file.bad++;
      file.problem ??= `line ${line}: ${(error as Error).message.slice(0, 300)}`;
    }
  }

  /** Reads from the old end on. What comes after the last line break counts only once it is whole. */
  function read(handle: number, file: FileRow, onChunk?: (file: FileRow) => void): void {
    const block = Buffer.allocUnsafe(Math.min(blockBytes, Math.max(1, file.size - file.indexed)));
    const cutter = lineCutter();
    let [position, sinceChunk] = [file.indexed, 0];
    const commit = () => {
      const { path: _path, head: _head, ...saved } = file;
      saveFile.run(saved);
      database.exec("COMMIT");
      sinceChunk = 0;
      onChunk?.(file);
    };
    database.exec("BEGIN");
    while (position < file.size) {
      const count = readSync(handle, block, 0, Math.min(block.length, file.size - position), position);
      if (count === 0) break;
      position += count;
      for (const bytes of cutter.cut(block.subarray(0, count))) {
        take(file, bytes.toString("utf8"), bytes.length);
        file.indexed += bytes.length + 1;
        if (++sinceChunk < chunkLines) continue;
        commit();
        database.exec("BEGIN");
      }
      if (cutter.held <= budgets.line.bytes) continue;
      file.problem ??= `a line is longer than ${budgets.line.bytes} bytes: what follows it is not loaded`;
      break;
    }
    const rest = cutter.rest();
    if (isWhole(rest)) {
      take(file, rest.toString("utf8"), rest.length);
      file.indexed += rest.length;
    }
    commit();
  }

  return {
    forget,
    /** Reads what is new; false where nothing was. `onChunk` is told after each chunk how far it is. */
    update(seen: SeenFile, onChunk?: (file: FileRow) => void): boolean {
      let row = known.get(seen.path) as unknown as FileRow | undefined;
      if (row && row.size === seen.size && row.mtime === seen.mtime) return false;
      const handle = openSync(seen.path, "r");
      try {
        const same = row && seen.size >= row.indexed && headOf(handle, Number.parseInt(row.head, 10)) === row.head;
        if (row && !same) {
          forget(seen.path);
          row = undefined;
        }
        if (!row) {
          insertFile.run(seen.path, headOf(handle, Math.min(headBytes, seen.size)));
          row = known.get(seen.path) as unknown as FileRow;
        }
        read(handle, { ...row, size: seen.size, mtime: seen.mtime }, onChunk);
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      } finally {
        closeSync(handle);
      }
      return true;
    },
  };
}

/** Whether bytes without a line break at their end are a complete JSON object all the same. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length === 0 || bytes.length > budgets.line.bytes) return false;
  try {
    return typeof JSON.parse(bytes.toString("utf8")) === "object";
  } catch {
    return false;
  }
}

/** Whether a file still begins as it did: a number of bytes and their hash. */
function headOf(handle: number, length: number): string {
  const bytes = Buffer.alloc(length);
  const count = readSync(handle, bytes, 0, length, 0);
  return `${length}:${fingerprint(bytes.subarray(0, count))}`;
}

/** A file that exists, with what shows later whether it changed. */
export interface SeenFile {
  path: string;
  size: number;
  mtime: number;
}

const maxDepth = 8;
const maxFiles = 5_000;
const skippedFolders = new Set(["node_modules", "cache", "checkpoints"]);

/** Looks at the paths again; files that are gone or can't be read are left out. */
export function findFiles(paths: readonly string[]): SeenFile[] {
  const found = new Map<string, SeenFile>();
  const add = (path: string) => {
    if (found.size >= maxFiles) return;
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile()) found.set(path, { path, size: stat.size, mtime: stat.mtimeMs });
  };
  const visit = (folder: string, depth: number): void => {
    let entries: Dirent[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      return;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        const hidden = entry.name.startsWith(".") && entry.name !== ".coa";
        if (!hidden && depth < maxDepth && !skippedFolders.has(entry.name)) visit(path, depth + 1);
      } else if (entry.name.endsWith(".jsonl")) add(path);
    }
  };
  for (const path of paths) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) visit(path, 0);
    else add(path);
  }
  // A finished distillation has its chains twice: all that passed the filters, and those that were written out.
  return [...found.values()].filter(
    ({ path }) => basename(path) !== "kept.jsonl" || !found.has(join(dirname(path), "trajectories.jsonl")),
  );
}
