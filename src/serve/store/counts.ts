/**
 * What callers have used, counted once for all servers of a store: requests by the minute; tokens and dollars by the day, by
 * the month and in all. A period is the beginning of a date in UTC: of all dates, it is empty.
 */
import type { Database, Statement } from "./database.ts";

/** For how long something is counted together, with how much of a date names it. */
export const periods = { all: 0, month: 7, day: 10, minute: 16 } as const;

export interface Spent {
  tokens: number;
  usd: number;
}

/** Counts for all callers. */
export type Counts = ReturnType<typeof counts>;

/** What an owner used in a period: a day (`2026-11-18`) or a month (`2026-11`). */
export interface Counted extends Spent {
  owner: string;
  period: string;
  /** Chains and completions that were counted. */
  requests: number;
}

export function counts(database: Database) {
  const period = (name: keyof typeof periods) => new Date(database.now()).toISOString().slice(0, periods[name]);
  const budgeted = ["all", "month", "day"] as const;
  return {
    /** Counts requests of this minute where that makes at most `max`: how many there are then, and when the next minute begins. */
    async take(owner: string, requests: number, max: number): Promise<{ taken: number | undefined; restMs: number }> {
      const now = database.now();
      const restMs = 60_000 - (now % 60_000);
      const count = `INSERT INTO coa_counts (owner, period, at, requests) VALUES ($1, $2, $3, $4)
        ON CONFLICT (owner, period) DO UPDATE SET requests = coa_counts.requests + excluded.requests, at = excluded.at
          WHERE coa_counts.requests + excluded.requests <= $5 RETURNING requests`;
      if (requests > max) return { taken: undefined, restMs };
      const [rows] = await database.run([count, [owner, period("minute"), now, requests, Math.floor(max)]]);
      return { taken: rows![0] && Number(rows![0]["requests"]), restMs };
    },
    async spent(owner: string): Promise<Record<"all" | "month" | "day", Spent>> {
      const [rows] = await database.run([
        "SELECT period, tokens, usd FROM coa_counts WHERE owner = $1 AND period IN ($2, $3, $4)",
        [owner, ...budgeted.map(period)],
      ]);
      const found = (name: (typeof budgeted)[number]): Spent => {
        const row = rows!.find((one) => one["period"] === period(name));
        return { tokens: Number(row?.["tokens"] ?? 0), usd: Number(row?.["usd"] ?? 0) };
      };
      return { all: found("all"), month: found("month"), day: found("day") };
    },
    async spend(owner: string, { tokens, usd }: Spent): Promise<void> {
      const add = `INSERT INTO coa_counts (owner, period, at, tokens, usd, requests) VALUES ($1, $2, $3, $4, $5, 1)
        ON CONFLICT (owner, period) DO UPDATE SET tokens = coa_counts.tokens + excluded.tokens,
          usd = coa_counts.usd + excluded.usd, requests = coa_counts.requests + 1, at = excluded.at`;
      const now = database.now();
      await database.run(...budgeted.map((name): Statement => [add, [owner, period(name), now, tokens, usd]]));
    },
    /** What was used in each day and month, by one owner or by all. */
    async used(owner?: string): Promise<Counted[]> {
      const lengths = `length(period) IN (${periods.day}, ${periods.month})`;
      const [rows] = await database.run([
        `SELECT owner, period, requests, tokens, usd FROM coa_counts
          WHERE ${lengths} AND (owner = $1 OR CAST($1 AS TEXT) IS NULL) ORDER BY owner, period`,
        [owner ?? null],
      ]);
      return rows!.map((row) => ({
        owner: String(row["owner"]),
        period: String(row["period"]),
        requests: Number(row["requests"]),
        tokens: Number(row["tokens"]),
        usd: Number(row["usd"]),
      }));
    },
  };
}
