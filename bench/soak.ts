/**
 * An hour of traffic (`--minutes 60`) with a flaky upstream, clients that leave, stored and background responses, and a server
 * that is killed again and again beside one whose memory is watched. `--store postgres` keeps the state in PostgreSQL.
 */
import type { BenchOptions, Figure } from "../scripts/bench.ts";
import { noPostgres, startPostgres } from "../test/fixtures/postgres.ts";
import { soak } from "./soak/soak.ts";

export default async function bench({ minutes = 60, store = "sqlite" }: BenchOptions): Promise<Figure[]> {
  if (store === "postgres" && noPostgres) throw new Error(noPostgres);
  const postgres = store === "postgres" ? await startPostgres() : undefined;
  try {
    const log = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);
    const { told, kills, calls, slope, underWay, samples } = await soak({ minutes, state: postgres?.database(), log });
    for (const line of [...told.hung, ...told.lost].slice(0, 20)) console.error(line);
    const count = (name: string, value: number): Figure => ({ name, value, unit: "" });
    const none = (name: string, value: number): Figure => ({ ...count(name, value), target: "0", met: value === 0 });
    const failed = Object.entries(calls).reduce(
      (sum, [kind, n]) => sum + (kind === "good" || kind === "slow" ? 0 : n),
      0,
    );
    return [
      { name: `time over ${store}`, value: minutes, unit: "min" },
      count("requests", told.requests),
      count("answered", told.answered),
      count("refused as they must be", told.refused),
      count("given up by their client", told.left),
      count("cut by a kill", told.cut),
      count("kills", kills),
      count("upstream calls that failed", failed),
      count("responses stored", told.stored.size),
      none("hung", told.hung.length + underWay),
      none("lost", told.lost.length),
      { name: "live memory at the end", value: samples.at(-1)!.liveMb, unit: "MB" },
      { name: "resident memory at the end", value: samples.at(-1)!.rssMb, unit: "MB" },
      {
        name: "growth of live memory in the last half, for 10,000 requests",
        value: slope.live,
        unit: "MB",
        target: "< 1 MB",
        met: slope.live < 1,
      },
      { name: "growth of resident memory in the last half, for 10,000 requests", value: slope.rss, unit: "MB" },
    ];
  } finally {
    await postgres?.stop();
  }
}
