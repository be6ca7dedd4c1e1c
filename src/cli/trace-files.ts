/** Traces as people keep them: one file, several, or a folder in which some files are something else. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, UsageError } from "../core/errors.ts";
import type { TeamRun } from "../core/team-run.ts";
import { importFiles } from "../record/import-file.ts";
import { holdsRecordings, readRecordings } from "../record/recordings.ts";

/** The file itself, or the JSON and JSONL files of a folder. */
export async function traceFiles(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null);
  if (!found) throw new UsageError(`there is no file ${path}`);
  if (!found.isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => /\.(?:jsonl?|ndjson)(?:\.gz)?$/.test(name)).sort().map((name) => join(path, name)); // biome-ignore format: one line
}

export interface ImportedTraces {
  runs: TeamRun[];
  /** Files of folders that hold no trace, with the reason. */
  unreadable: { file: string; reason: string }[];
}

/**
 * The runs of these files and folders. A folder of recordings is read as a whole, its calls and traces joined. A file that
 * was named must be readable, unless `lenient`; in another folder, files that hold no trace are passed over and named.
 */
export async function importTraces(
  paths: readonly string[],
  { lenient = false, ...options }: { format?: string; lenient?: boolean } = {},
): Promise<ImportedTraces> {
  const readable: string[] = [];
  const unreadable: ImportedTraces["unreadable"] = [];
  const recorded: TeamRun[] = [];
  for (const path of paths) {
    if (await holdsRecordings(path)) {
      recorded.push(...(await readRecordings(path)));
      continue;
    }
    for (const file of await traceFiles(path)) {
      try {
        if ((file === path && !lenient) || (await importFiles([file], options)).length > 0) readable.push(file);
        else if (lenient) unreadable.push({ file, reason: "no model call in it" });
      } catch (error) {
        unreadable.push({ file, reason: messageOf(error) });
      }
    }
  }
  // Together: several files may hold parts of one trace.
  const imported = readable.length === 0 ? [] : await importFiles(readable, options);
  return { runs: [...recorded, ...imported], unreadable };
}
