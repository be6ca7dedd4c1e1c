/**
 * The database behind a server, in the SQL that SQLite and PostgreSQL share: `$1` stands for a value, times are milliseconds
 * since 1970, and what has no columns of its own is JSON text.
 */
import type { Json } from "../../core/json-value.ts";

/** A value of a statement or of a row. */
export type Value = string | number | null;

/** A row, by the names of its columns. */
export type Row = Record<string, Value>;

export type Statement = readonly [text: string, values?: readonly Value[]];

export interface Database {
  /** All of them or none, on disk when it resolves; the rows of each. */
  run(...statements: readonly Statement[]): Promise<Row[][]>;
  /** What was deleted can't be read from the disk any more, and its room is free. */
  tidy(): Promise<void>;
  /** The time that all who share the database go by; setting a clock does not change it. */
  now(): number;
  close(): Promise<void>;
}

/** Raised when tables change. */
export const schemaVersion = "3";

const time = "DOUBLE PRECISION NOT NULL";
const ofResponse = "TEXT NOT NULL REFERENCES coa_responses (id) ON DELETE CASCADE";

/** The tables. A response in the background has its request until it ends, and a server that holds it until a time. */
export const schema: readonly string[] = [
  "CREATE TABLE IF NOT EXISTS coa_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
  `CREATE TABLE IF NOT EXISTS coa_responses (id TEXT PRIMARY KEY, owner TEXT NOT NULL, at ${time}, thread TEXT NOT NULL,
    previous TEXT, response TEXT NOT NULL, input TEXT NOT NULL, request TEXT, model TEXT, holder TEXT,
    lease DOUBLE PRECISION, attempts INTEGER NOT NULL DEFAULT 0)`,
  "CREATE INDEX IF NOT EXISTS coa_threads ON coa_responses (thread, at)",
  `CREATE TABLE IF NOT EXISTS coa_items (owner TEXT NOT NULL, id TEXT NOT NULL, response ${ofResponse},
    PRIMARY KEY (owner, id, response))`,
  "CREATE INDEX IF NOT EXISTS coa_items_of ON coa_items (response)",
  `CREATE TABLE IF NOT EXISTS coa_chains (id TEXT PRIMARY KEY, owner TEXT NOT NULL, at ${time}, turn TEXT,
    chain TEXT NOT NULL)`,
  "CREATE INDEX IF NOT EXISTS coa_turns ON coa_chains (turn)",
  `CREATE TABLE IF NOT EXISTS coa_counts (owner TEXT NOT NULL, period TEXT NOT NULL, at ${time},
    requests INTEGER NOT NULL DEFAULT 0, tokens DOUBLE PRECISION NOT NULL DEFAULT 0, usd DOUBLE PRECISION NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, period))`,
  `CREATE TABLE IF NOT EXISTS coa_replies (id TEXT PRIMARY KEY, request TEXT NOT NULL, at ${time}, holder TEXT NOT NULL,
    lease ${time}, reply TEXT, bytes INTEGER NOT NULL DEFAULT 0, chain TEXT)`,
  "CREATE INDEX IF NOT EXISTS coa_replies_of ON coa_replies (chain)",
  "CREATE INDEX IF NOT EXISTS coa_leases ON coa_responses (lease) WHERE request IS NOT NULL",
  `CREATE TABLE IF NOT EXISTS coa_events (response ${ofResponse}, place INTEGER NOT NULL, event TEXT NOT NULL,
    PRIMARY KEY (response, place))`,
];

export function jsonOf<T = Json>(row: Row, column: string): T {
  return JSON.parse(String(row[column])) as T;
}
