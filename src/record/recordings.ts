/** A folder of recordings as team runs: wire calls and traces of the same calls joined, imported runs beside them. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type ReadOptions, readJsonl } from "../base/files/read-jsonl.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { readCallLogs } from "./call-log.ts";
import { callsToRuns } from "./calls-to-runs.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { resolveItems } from "./resolve-items.ts";
import { spansToRuns } from "./spans-to-runs.ts";
import { readTraceLogs, tracesToSpans } from "./trace-log.ts";
import { exchangeToCall } from "./wire-exchange.ts";

/** Whether a recorder or collector wrote into a folder. */
export async function holdsRecordings(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names.some((name) => /^(?:calls|traces)-.*\.jsonl$/.test(name));
}

/** All runs of a folder, oldest first. */
export async function readRecordings(folder: string, options: ReadOptions = {}): Promise<TeamRun[]> {
  const wire = new Set<RecordedCall>();
  for (const exchange of resolveItems(await Array.fromAsync(readCallLogs(folder, options)))) {
    const call = exchangeToCall(exchange);
    if (call) wire.add(call);
  }
  const traced = spansToRuns(tracesToSpans(await Array.fromAsync(readTraceLogs(folder, options))), "collector", wire);
  const imported = await Array.fromAsync(readJsonl(join(folder, "runs.jsonl"), teamRunSchema, options));
  return [...imported, ...traced, ...callsToRuns([...wire], "proxy")].sort(
    (a, b) => (a.steps[0]?.startedAt ?? 0) - (b.steps[0]?.startedAt ?? 0),
  );
}
