/**
 * The studio's index: a SQLite file in `.coa/cache/` that can be deleted. It says where each run and chain is (file,
 * offset, length), what a list shows of it, and which words it contains. All data stay in the JSONL files. One process
 * writes it (the worker), the others only read.
 */
import { DatabaseSync } from "node:sqlite";
import { openSqliteCache } from "../../base/files/sqlite-cache.ts";

/** Raised when tables change: an index of another version is deleted. */
const version = 4;

const schema = `
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT UNIQUE, kind TEXT, size INTEGER, mtime REAL, head TEXT,
  indexed INTEGER, lines INTEGER, bad INTEGER, problem TEXT);
CREATE TABLE item (id INTEGER PRIMARY KEY, file INTEGER, line INTEGER, offset INTEGER, length INTEGER, kind TEXT, key TEXT,
  taskId TEXT, question TEXT, system TEXT, origin TEXT, family TEXT, ending TEXT, reward REAL, answer TEXT, moves INTEGER,
  toolCalls INTEGER, billed INTEGER, computed INTEGER, violations INTEGER, runId TEXT, step INTEGER, rollout TEXT);
CREATE INDEX item_key ON item (key);
CREATE INDEX item_run ON item (runId) WHERE runId <> '';
CREATE INDEX item_task ON item (taskId);
CREATE INDEX item_billed ON item (kind, billed);
CREATE INDEX item_moves ON item (kind, moves);
CREATE INDEX item_calls ON item (kind, toolCalls);
CREATE INDEX item_reward ON item (kind, reward);
CREATE INDEX item_cube ON item (kind, system, origin, family, ending, reward, file);
CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1, detail=none, tokenize='unicode61');
`;

/** Opens the index; one of another version, or one that can't be read, is made again. */
export function openCatalogDatabase(path: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  if (options.readOnly) return new DatabaseSync(path, { readOnly: true, timeout: 30_000 });
  return openSqliteCache(path, { version, schema, pragmas: "PRAGMA journal_mode = WAL;" });
}

/** A file as the index knows it. */
export interface FileRow {
  id: number;
  path: string;
  kind: string;
  size: number;
  mtime: number;
  head: string;
  /** Bytes that were read. */
  indexed: number;
  lines: number;
  /** Lines that could not be read. */
  bad: number;
  problem: string | null;
}
