/** Traces as people keep them: one file, several, or a folder in which some files are something else. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../core/errors.ts";
import type { TeamRun } from "../core/team-run.ts";
import { importRuns } from "../record/import-file.ts";
import { eachRecording, holdsRecordings } from "../record/recordings.ts";

/** The file itself, or the JSON and JSONL files of a folder. */
export async function traceFiles(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null);
  if (!found) throw new UsageError(`there is no file ${path}`);
  if (!found.isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => /\.(?:jsonl?|ndjson)(?:\.gz)?$/.test(name)).sort().map((name) => join(path, name)); // biome-ignore format: one line
}

/**
 * The runs of these files and folders, read while they are asked for. A folder of recordings is read as a whole, its calls and
 * traces joined. A file that was named must be readable, unless `lenient`; in another folder, files that hold no trace are passed
 * over and named: `unreadable` is complete once all runs were read.
 */
export function importTraces(
  paths: readonly string[],
  { lenient = false, onNote, ...options }: { format?: string; lenient?: boolean; onNote?: (note: string) => void } = {},
) {
  const unreadable: { file: string; reason: string }[] = [];
  async function* runs(): AsyncGenerator<TeamRun> {
    const [named, found]: [string[], string[]] = [[], []];
    for (const path of paths) {
      if (await holdsRecordings(path)) yield* eachRecording(path, { onNote });
      else for (const file of await traceFiles(path)) (file === path && !lenient ? named : found).push(file);
    }
    // Together: several files may hold parts of one trace.
    const onUnreadable = (file: string, reason: string) => void unreadable.push({ file, reason });
    yield* importRuns(named, options);
    yield* importRuns(found, { ...options, onUnreadable });
  }
  return { runs: runs(), unreadable };
}
