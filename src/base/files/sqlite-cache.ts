/** A SQLite file that holds nothing of its own: one that can't be read, or that another release wrote, is made again. */
import { closeSync, openSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { ownerOnly } from "./disk.ts";

/** What a cache of one kind looks like. */
export interface CacheShape {
  /** Raised when tables change. */
  version: number;
  schema: string;
  pragmas: string;
}

/** Opens a cache for writing; makes it where it is missing or of no use, and then calls `onRemade` with why. */
export function openSqliteCache(path: string, shape: CacheShape, onRemade?: (why: string) => void): DatabaseSync {
  try {
    return open(path, shape);
  } catch (error) {
    onRemade?.((error as Error).message);
    removeSqliteCache(path);
    return open(path, shape);
  }
}

/** Deletes a cache with the files beside it. */
export function removeSqliteCache(path: string): void {
  for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${end}`, { force: true });
}

function open(path: string, { version, schema, pragmas }: CacheShape): DatabaseSync {
  // Without a name it is a file of the system's that goes with the connection.
  if (path !== "") closeSync(openSync(path, "a", ownerOnly));
  const database = new DatabaseSync(path, { timeout: 30_000 });
  try {
    database.exec(`${pragmas} PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;`);
    const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
    if (found === 0) database.exec(`BEGIN; ${schema} PRAGMA user_version = ${version}; COMMIT;`);
    else if (found !== version) throw new Error(`an index of version ${found}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
