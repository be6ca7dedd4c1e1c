/**
 * What a server keeps between restarts: stored responses, chains that wait for clients, and the key of sealed state. In a
 * SQLite file of one folder, in a PostgreSQL database that several servers share, or in memory. What was not used for 30
 * days is deleted while the server runs.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CoaError } from "../../core/errors.ts";
import { openSeal } from "../sealed-state.ts";
import { type Counts, counts, periods } from "./counts.ts";
import { type Database, type Statement, schemaVersion } from "./database.ts";
import { type KeptReplies, keptReplies, repliedMs } from "./kept-replies.ts";
import { type LeasedRuns, leasedRuns } from "./leased-runs.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";
import { type ResponseStore, storedResponses } from "./stored-responses.ts";
import { type SuspendedChains, suspendedChains } from "./suspended-chains.ts";

export interface ServeStore {
  /** @internal */
  responses: ResponseStore;
  /** @internal */
  suspended: SuspendedChains;
  /** @internal */
  runs: LeasedRuns;
  /** @internal */
  counts: Counts;
  /** @internal */
  replies: KeptReplies;
  /** Deletes what has expired, or only counts it. */
  clean(options?: { dryRun?: boolean }): Promise<number>;
  close(): Promise<void>;
}

export interface ServeStoreOptions {
  /** How long a server without a sign of life holds what it runs; 15 s by default. */
  leaseMs?: number;
}

const keptMs = 30 * 24 * 3_600_000;
/** How long the events of a response in the background can be sent again. */
const followedMs = 600_000;
/** A year of days and months, for reports of what was used. */
const countedMs = 400 * 24 * 3_600_000;
const cleanEveryMs = 600_000;

export function storeFile(folder: string): string {
  return join(folder, "state.sqlite");
}

/** Opens the store of a folder or of a `postgres://` address; without one, a store in memory. */
export async function openServeStore(place?: string, options: ServeStoreOptions = {}): Promise<ServeStore> {
  if (place !== undefined && /^postgres(ql)?:/.test(place)) return serveStore(await openPostgres(place), options);
  return serveStore(await openSqlite(place && storeFile(place)), options);
}

export async function serveStore(database: Database, { leaseMs }: ServeStoreOptions = {}): Promise<ServeStore> {
  const key = randomBytes(32).toString("hex");
  await database.run(["INSERT INTO coa_settings VALUES ('seal', $1) ON CONFLICT DO NOTHING", [key]]);
  const [rows] = await database.run(["SELECT name, value FROM coa_settings"]);
  const settings = new Map(rows!.map(({ name, value }) => [name, String(value)]));
  const version = settings.get("version");
  if (version !== schemaVersion) {
    await database.close();
    throw new CoaError(
      "storage",
      `the server's state is of version ${version}, this program reads ${schemaVersion}: give another place with --state`,
    );
  }
  const store: ServeStore = {
    responses: storedResponses(database),
    suspended: suspendedChains(database, openSeal({ key: Buffer.from(settings.get("seal")!, "hex") })),
    runs: leasedRuns(database, leaseMs),
    counts: counts(database),
    replies: keptReplies(database, leaseMs),
    async clean({ dryRun = false } = {}) {
      const before = database.now() - keptMs;
      // A conversation is used as long as it is continued.
      const old = "thread IN (SELECT thread FROM coa_responses GROUP BY thread HAVING max(at) < $1)";
      const expired: [table: string, where: string][] = [["coa_responses", old], ["coa_chains", "at < $1"]]; // biome-ignore format: one table
      const statements = expired.map(
        ([table, where]): Statement => [
          dryRun ? `SELECT 1 FROM ${table} WHERE ${where}` : `DELETE FROM ${table} WHERE ${where} RETURNING 1`,
          [before],
        ],
      );
      const gone = (await database.run(...statements)).reduce((sum, found) => sum + found.length, 0);
      if (dryRun) return gone;
      const over = "SELECT id FROM coa_responses WHERE request IS NULL AND at < $1";
      await database.run(
        [`DELETE FROM coa_events WHERE response IN (${over})`, [database.now() - followedMs]],
        ["DELETE FROM coa_replies WHERE at < $1", [database.now() - repliedMs]],
        [`DELETE FROM coa_counts WHERE at < $1 AND length(period) = ${periods.minute}`, [database.now() - followedMs]],
        ["DELETE FROM coa_counts WHERE at < $1 AND period <> ''", [database.now() - countedMs]],
      );
      await database.tidy();
      return gone;
    },
    async close() {
      clearInterval(timer);
      await database.close();
    },
  };
  const timer = setInterval(() => void store.clean().catch(() => {}), cleanEveryMs).unref();
  return store;
}
