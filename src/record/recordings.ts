/** A folder of recordings as team runs: wire calls and traces of the same calls joined, imported runs beside them. */

import { readdir } from "node:fs/promises";
import type { ReadOptions } from "../base/files/read-jsonl.ts";
import type { TeamRun } from "../core/team-run.ts";
import { openRunIndex, type RunIndexOptions } from "./recordings/run-index.ts";

/** Whether a recorder or collector wrote into a folder. */
export async function holdsRecordings(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names.some((name) => /^(?:calls|traces)-.*\.jsonl$/.test(name));
}

/** All runs of a folder, oldest first, one at a time. */
export async function* eachRecording(folder: string, options: RunIndexOptions = {}): AsyncGenerator<TeamRun> {
  const index = await openRunIndex(folder, options);
  try {
    yield* index.runs();
  } finally {
    index.close();
  }
}

/** All runs of a folder at once, oldest first. */
export async function readRecordings(folder: string, options: ReadOptions = {}): Promise<TeamRun[]> {
  return Array.fromAsync(eachRecording(folder, options));
}
