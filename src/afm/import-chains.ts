/** Files of chains as text -> trajectories, with a report of what was read and what was not. */

import { extname } from "node:path";
import { readJsonArray } from "../base/files/read-json-array.ts";
import { readJsonl } from "../base/files/read-jsonl.ts";
import type { Profile } from "../core/profile.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type AlpacaRow, alpacaChain } from "./alpaca-chain.ts";

export interface ImportOptions {
  /** Of all rows; known from each chain's tools otherwise. */
  profile?: Profile;
  /** Takes chains whose tags do not parse cleanly too; their violations say what is wrong. */
  keepBroken?: boolean;
  signal?: AbortSignal;
  onProgress?: (rows: number) => void;
}

/** Reads a file of chains; each trajectory is handed on as it is read. `violations`: rules of the profile that chains break, in chains. */
export async function importChains(
  file: string,
  take: (trajectory: Trajectory) => Promise<void> | void,
  options: ImportOptions = {},
) {
  type Counts = Record<string, number>;
  const [refused, violations, profiles]: [Counts, Counts, Counts] = [{}, {}, {}];
  const report = { rows: 0, imported: 0, refused, violations, profiles };
  const count = (table: Counts, name: string) => void (table[name] = (table[name] ?? 0) + 1);
  const stem = file
    .split(/[\\/]/)
    .at(-1)!
    .replace(/\.[^.]+$/, "");
  const { signal } = options;
  const rows = extname(file) === ".json" ? readJsonArray(file, { signal }) : readJsonl(file, undefined, { signal });
  for await (const row of rows) {
    options.signal?.throwIfAborted();
    const read = alpacaChain(row as AlpacaRow, `${stem}-${report.rows++}`, options);
    options.onProgress?.(report.rows);
    const broken = new Set(read.problems);
    if (!read.trajectory || (broken.size > 0 && !options.keepBroken)) {
      count(report.refused, read.reason ?? `tags do not parse: ${[...broken].sort().join(", ")}`);
      continue;
    }
    report.imported++;
    count(report.profiles, read.trajectory.profile);
    for (const rule of new Set(read.trajectory.violations.map((violation) => violation.rule)))
      count(report.violations, rule);
    await take(read.trajectory);
  }
  return report;
}
