/**
 * A SQLite file that only its user reads. Writes that are asked for at the same time are committed together, because a
 * commit waits for the disk. Servers on one machine may share the file.
 */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import { type Database, type Row, type Statement, schema, schemaVersion } from "./database.ts";

export interface SqliteOptions {
  /** Most pages of 4 kB; without a limit by default. */
  maxPages?: number;
  now?: () => number;
}

export async function openSqlite(file = ":memory:", options: SqliteOptions = {}): Promise<Database> {
  const { maxPages, now = steadyNow } = options;
  const database = await open(file);
  if (maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${maxPages}`);
  const prepared = new Map<string, StatementSync>();
  const all = ([text, values = []]: Statement): Row[] => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement.all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]))) as Row[];
  };
  const isRead = ([text]: Statement) => /^(SELECT|WITH)\b/.test(text);
  let waiting: { statements: readonly Statement[]; done: PromiseWithResolvers<Row[][]> }[] = [];

  function commit(): void {
    const group = waiting;
    waiting = [];
    if (group.length === 0) return; // written when the database was closed
    try {
      database.exec("BEGIN IMMEDIATE");
      const ended = group.map(({ statements, done }) => {
        database.exec("SAVEPOINT one");
        try {
          const rows = statements.map(all);
          return () => done.resolve(rows);
        } catch (error) {
          if (!database.isTransaction) throw error; // a full disk ends it whole
          database.exec("ROLLBACK TO one");
          return () => done.reject(failure(file, error));
        } finally {
          if (database.isTransaction) database.exec("RELEASE one");
        }
      });
      database.exec("COMMIT");
      for (const end of ended) end();
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      for (const { done } of group) done.reject(failure(file, error));
    }
  }

  function read(statements: readonly Statement[]): Row[][] {
    try {
      return statements.map(all);
    } catch (error) {
      throw failure(file, error);
    }
  }

  return {
    now,
    async run(...statements) {
      if (statements.every(isRead)) return read(statements);
      const done = Promise.withResolvers<Row[][]>();
      if (waiting.push({ statements, done }) === 1) setImmediate(commit);
      return done.promise;
    },
    async tidy() {
      database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
    },
    async close() {
      if (waiting.length > 0) commit();
      if (database.isOpen) database.close();
    },
  };
}

async function open(file: string): Promise<DatabaseSync> {
  // Loaded here: only a server pays for it.
  const { DatabaseSync } = await import("node:sqlite");
  try {
    if (file !== ":memory:") {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      closeSync(openSync(file, "a", 0o600)); // SQLite gives the files beside it the same mode
    }
    const database = new DatabaseSync(file, { timeout: 30_000 });
    database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON");
    database.exec(`BEGIN IMMEDIATE; ${schema.join(";")};
      INSERT INTO coa_settings VALUES ('version', '${schemaVersion}') ON CONFLICT DO NOTHING; COMMIT`);
    return database;
  } catch (error) {
    throw failure(file, error);
  }
}

function failure(file: string, error: unknown): CoaError {
  return new CoaError("storage", `the server's state in ${file}: ${messageOf(error)}`, { cause: error });
}
