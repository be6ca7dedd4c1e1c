/**
 * The index of a folder of recordings: its runs put together once, in a SQLite file beside the logs that can be deleted.
 * New lines are read where reading ended; what belongs together is found while a window of lines is held, and lines that
 * refer to earlier runs bring those back by their places. So memory grows with a run, not with a recording.
 */
import { hash } from "node:crypto";
import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { constants as zlib, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { packageVersion } from "../../base/files/package-version.ts";
import { type BadLine, type ReadOptions, tellBadLine } from "../../base/files/read-jsonl.ts";
import { openSqliteCache, removeSqliteCache } from "../../base/files/sqlite-cache.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { type RunSummary, summariseRun } from "../run-summary.ts";
import { type Group, groupItems, type HeldItem, holdItem, wantedKeys } from "./group-items.ts";
import { itemReader, type PartPlaces, type Place, type Source, timeOf } from "./log-items.ts";

const shape = {
  version: 2,
  pragmas: "PRAGMA journal_mode = TRUNCATE;",
  schema: `
CREATE TABLE release (name TEXT);
CREATE TABLE source (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER, mtime REAL, offset INTEGER, line INTEGER,
  seen TEXT);
CREATE TABLE part (name BLOB PRIMARY KEY, source INTEGER, offset INTEGER, length INTEGER) WITHOUT ROWID;
CREATE TABLE family (id INTEGER PRIMARY KEY, endedAt REAL, bare INTEGER);
CREATE INDEX family_end ON family (endedAt);
CREATE TABLE item (family INTEGER, source INTEGER, offset INTEGER, length INTEGER, traceId TEXT);
CREATE INDEX item_family ON item (family);
CREATE TABLE key (name BLOB, family INTEGER, PRIMARY KEY (name, family)) WITHOUT ROWID;
CREATE INDEX key_family ON key (family);
CREATE TABLE run (family INTEGER, name TEXT, task TEXT, startedAt REAL, summary TEXT, body BLOB);
CREATE INDEX run_family ON run (family);
CREATE INDEX run_name ON run (name);
CREATE INDEX run_task ON run (task) WHERE task IS NOT NULL;
CREATE INDEX run_start ON run (startedAt);
CREATE TABLE bad (file TEXT, line INTEGER, kind TEXT, message TEXT);
`,
};

/** How much is held at once. */
export interface IndexWindow {
  /** Bytes of lines and of the messages that they repeat. */
  bytes: number;
  /** A run in which nothing happened for so long is done, until a later line refers to it. */
  quietMs: number;
}

/** What is held becomes runs again and again: some twenty times these bytes are in memory at once. */
const usualWindow: IndexWindow = { bytes: 8 * 2 ** 20, quietMs: 15 * 60_000 };

/** Of runs that a line may refer to (all that began with a greeting), so many are looked at with it: the newest. */
const maxReferred = 8;

export interface RunIndexOptions extends ReadOptions {
  window?: IndexWindow;
  /** Told when the index had to be made again. */
  onNote?: (message: string) => void;
}

export interface RunIndex {
  summaries(): AsyncIterable<RunSummary>;
  find(idOrTask: string): Promise<TeamRun[]>;
  newest(count: number): Promise<string[]>;
  /** How many traces hold no model call, and so no run. */
  bareTraces(): Promise<number>;
  runs(): AsyncIterable<TeamRun>;
  close(): void;
}

/** Opens the index of a folder and brings it up to date; one that is damaged or of other files is made again, and said to be. */
export async function openRunIndex(folder: string, options: RunIndexOptions = {}): Promise<RunIndex> {
  const path = isWritable(folder) ? join(folder, "runs.index.sqlite") : "";
  const remade = (why: string) => options.onNote?.(`the index of ${folder} was made again: ${why}`);
  const open = () => openSqliteCache(path, shape, remade);
  let database = open();
  const remake = async (why: string) => {
    remade(why);
    database.close();
    removeSqliteCache(path);
    database = open();
    const changed = await update(database, folder, options);
    if (changed !== undefined) throw new CoaError("storage", `${folder} changes while it is read: ${changed}`);
  };
  /** Damage shows where it is read: the rows that are left come from an index made anew. */
  async function* rows<T>(sql: string, read: (row: Record<string, unknown>) => T, ...values: (string | number)[]) {
    let given = 0;
    for (let retried = false; ; retried = true) {
      let at = 0;
      try {
        for (const row of database.prepare(sql).iterate(...values)) {
          const value = read(row);
          if (at++ < given) continue;
          given++;
          yield value;
        }
        return;
      } catch (error) {
        if (retried || !isDamage(error)) throw error;
        await remake(messageOf(error));
      }
    }
  }
  const bodyOf = ({ body }: Record<string, unknown>) =>
    JSON.parse(zstdDecompressSync(body as Uint8Array).toString("utf8")) as TeamRun;
  try {
    const changed = await update(database, folder, options);
    if (changed !== undefined) await remake(changed);
  } catch (error) {
    if (isDamage(error)) await remake(messageOf(error));
    else {
      database.close();
      throw error;
    }
  }
  return {
    summaries: () =>
      rows("SELECT summary FROM run ORDER BY startedAt, rowid", ({ summary }) => JSON.parse(summary as string)),
    find: (start) =>
      Array.fromAsync(
        rows(
          "SELECT body FROM run WHERE name >= ? AND name < ? OR task = ? ORDER BY startedAt, rowid",
          bodyOf,
          start,
          `${start}\u{10ffff}`,
          start,
        ),
      ),
    newest: (count) =>
      Array.fromAsync(
        rows("SELECT name FROM run ORDER BY startedAt DESC, rowid DESC LIMIT ?", ({ name }) => String(name), count),
      ),
    bareTraces: async () =>
      Number((await rows("SELECT sum(bare) AS count FROM family", ({ count }) => count).next()).value ?? 0),
    runs: () => rows("SELECT body FROM run ORDER BY startedAt, rowid", bodyOf),
    close: () => database.close(),
  };
}

/** What is written can't be read, or SQLite fails, unless it says to wait: the file holds nothing that can be lost. */
function isDamage(error: unknown): boolean {
  const { code, errcode } = error as { code?: string; errcode?: number };
  if (error instanceof SyntaxError || code?.startsWith("ZSTD_")) return true;
  return code === "ERR_SQLITE_ERROR" && errcode !== 5;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

type SourceRow = { id: number; name: string; size: number; mtime: number; offset: number; line: number; seen: string };

/** Reads what is new; returns why the index is of no use where files are not what they were. */
async function update(database: DatabaseSync, folder: string, options: RunIndexOptions): Promise<string | undefined> {
  const release = packageVersion();
  const made = database.prepare("SELECT name FROM release").get()?.["name"];
  if (made !== undefined && made !== release) return `release ${made} wrote it`;
  const names = await readdir(folder).catch(() => [] as string[]);
  const logs = names.filter((name) => /^(?:(?:calls|traces)-.*|runs)\.jsonl$/.test(name)).sort();
  const known = new Map(
    (database.prepare("SELECT * FROM source").all() as unknown as SourceRow[]).map((row) => [row.name, row]),
  );
  for (const name of known.keys()) if (!logs.includes(name)) return `${name} is gone`;
  const fresh: (Source & { name: string; size: number; mtime: number })[] = [];
  let next = known.size;
  for (const name of logs) {
    const file = join(folder, name);
    const { size, mtimeMs: mtime } = statSync(file);
    const row = known.get(name);
    if (row && row.size === size && row.mtime === mtime) continue;
    if (row && (size < row.offset || seenOf(file, row.offset) !== row.seen)) return `${name} was changed`;
    const { offset, line } = row ?? { offset: 0, line: 0 };
    fresh.push({ id: row?.id ?? ++next, file, name, size, mtime, from: { offset, line } });
  }
  if (fresh.length > 0) {
    database.exec("BEGIN IMMEDIATE");
    try {
      if (made === undefined) database.prepare("INSERT INTO release VALUES (?)").run(release);
      await addLines(database, folder, fresh, options);
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  } else {
    const told = database.prepare("SELECT * FROM bad").all() as unknown as BadLine[];
    for (const bad of told) tellBadLine(bad, options);
  }
  return undefined;
}

/** A name for the beginning of a file and for what stands before a place. */
function seenOf(file: string, offset: number): string {
  const handle = openSync(file, "r");
  try {
    const length = Math.min(4096, offset);
    const bytes = Buffer.alloc(2 * length);
    readSync(handle, bytes, 0, length, 0);
    readSync(handle, bytes, length, length, offset - length);
    return hash("sha256", bytes);
  } finally {
    closeSync(handle);
  }
}

/** The beginning of a digest: equal names are equal things, or are looked at together without need. */
const shortName = (text: string) => Buffer.from(hash("sha256", text, "buffer")).subarray(0, 10);

async function addLines(
  database: DatabaseSync,
  folder: string,
  fresh: readonly (Source & { name: string; size: number; mtime: number })[],
  options: RunIndexOptions,
): Promise<void> {
  const { bytes: most, quietMs } = options.window ?? usualWindow;
  const prepare = (sql: string) => database.prepare(sql);
  const insert = {
    source: prepare("INSERT OR REPLACE INTO source VALUES (?, ?, ?, ?, ?, ?, ?)"),
    part: prepare("INSERT OR IGNORE INTO part VALUES (?, ?, ?, ?)"),
    family: prepare("INSERT INTO family (endedAt, bare) VALUES (?, ?)"),
    item: prepare("INSERT INTO item VALUES (?, ?, ?, ?, ?)"),
    key: prepare("INSERT OR IGNORE INTO key VALUES (?, ?)"),
    run: prepare("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?)"),
    bad: prepare("INSERT INTO bad VALUES (?, ?, ?, ?)"),
  };
  const findPart = prepare("SELECT source, offset, length FROM part WHERE name = ?");
  const findKey = prepare(`SELECT family FROM key WHERE name = ? ORDER BY family DESC LIMIT ${maxReferred}`);
  const itemsOf = prepare("SELECT source, offset, length, traceId FROM item WHERE family = ?");
  const removals = ["family WHERE id", "item WHERE family", "key WHERE family", "run WHERE family"].map((from) =>
    prepare(`DELETE FROM ${from} = ?`),
  );
  // A new source has its row before any line of it is read: its file is looked up by it.
  const files = new Map(fresh.map(({ id, file }) => [id, file]));
  for (const row of prepare("SELECT id, name FROM source").all()) {
    if (!files.has(row["id"] as number)) files.set(row["id"] as number, join(folder, row["name"] as string));
  }
  const places: PartPlaces = {
    add: (part, { source, offset, length }) => insert.part.run(Buffer.from(part, "hex"), source, offset, length),
    find: (part) => findPart.get(Buffer.from(part, "hex")) as unknown as Place | undefined,
    fileOf: (source) => files.get(source)!,
  };
  const reader = itemReader(places, most);
  const held = new Map<string, HeldItem>();
  let cost = 0;
  let settleAt = most;
  let now = 0;
  const weigh = ({ length, exchange }: HeldItem) => length + 100 * Object.values(exchange?.request ?? {}).flat().length;
  const hold = (item: HeldItem) => {
    const place = `${item.source} ${item.offset}`;
    const already = held.get(place);
    if (!already) cost += weigh(item);
    if (already?.traces && item.traces) for (const traceId of item.traces) already.traces.add(traceId);
    else held.set(place, item);
  };
  /** Brings a family back: its lines wait again, its runs will be made again. */
  const reopen = (family: number) => {
    const found = itemsOf.all(family) as unknown as (Place & { traceId: string | null })[];
    for (const { traceId, ...place } of found) {
      const item = reader.readAt(place);
      hold(traceId === null ? item : { ...item, traces: new Set([traceId]) });
    }
    for (const remove of removals) remove.run(family);
  };
  const write = ({ items, traceId, bare, runs, endedAt, keys }: Group) => {
    const family = Number(insert.family.run(endedAt, bare ? 1 : 0).lastInsertRowid);
    for (const item of items) {
      const { source, offset, length, traces } = item;
      insert.item.run(family, source, offset, length, traces ? traceId! : null);
      if (traces) traces.delete(traceId!);
      if (traces && traces.size > 0) continue;
      if (held.delete(`${source} ${offset}`)) cost -= weigh(item);
    }
    for (const key of keys) insert.key.run(shortName(key), family);
    for (const run of runs) {
      const body = zstdCompressSync(JSON.stringify(run), { params: { [zlib.ZSTD_c_checksumFlag]: 1 } });
      const startedAt = run.steps[0]?.startedAt ?? 0;
      insert.run.run(family, run.id, run.taskId ?? null, startedAt, JSON.stringify(summariseRun(run)), body);
    }
  };
  /** Writes what is done: runs that are quiet, and beyond half of the window the oldest; at the end all. */
  const settle = (all: boolean) => {
    const groups = groupItems([...held.values()]).sort((a, b) => a.endedAt - b.endedAt);
    for (const group of groups) {
      // A tool may work for hours before the agent that called it goes on.
      const quiet = now - group.endedAt > quietMs * (group.waits ? 8 : 1);
      if (all || quiet || cost > most / 2) write(group);
    }
    settleAt = Math.max(most, 2 * cost);
  };
  // What happened shortly before may go on.
  const last = Number(prepare("SELECT max(endedAt) AS last FROM family").get()?.["last"] ?? 0);
  for (const { id } of prepare("SELECT id FROM family WHERE endedAt >= ? ORDER BY endedAt DESC").all(last - quietMs)) {
    if (cost < most / 2) reopen(id as number);
  }
  const tellBad = (bad: BadLine) => {
    insert.bad.run(bad.file, bad.line, bad.kind, bad.message);
    tellBadLine(bad, options);
  };
  try {
    for await (const item of reader.read(fresh, { ...options, onBad: tellBad })) {
      const waiting = holdItem(item);
      if (!waiting) continue;
      for (const key of wantedKeys(waiting)) {
        for (const { family } of findKey.all(shortName(key))) reopen(family as number);
      }
      hold(waiting);
      if (!item.run) now = Math.max(now, timeOf(item));
      if (cost >= settleAt) settle(false);
    }
    settle(true);
  } finally {
    reader.close();
  }
  for (const { id, name, file, size, mtime, from } of fresh)
    insert.source.run(id, name, size, mtime, from.offset, from.line, seenOf(file, from.offset));
}
