/** Where recordings are, and the runs in them, for the commands of `coa record`. */

import { openWorkspace } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { readRecordings } from "../../record/recordings.ts";

/** The folder that was named, or the workspace's own. */
export async function recordingsFolder(given: string | undefined): Promise<string> {
  return given ?? (await openWorkspace()).folder("recordings");
}

/** The runs whose id begins with what was typed. */
export async function findRuns(folder: string, id: string): Promise<TeamRun[]> {
  const runs = await readRecordings(folder);
  const found = runs.filter((run) => run.id.startsWith(id));
  if (found.length > 0) return found;
  const known = runs.slice(-5).map((run) => run.id);
  throw new UsageError(
    known.length === 0
      ? `there are no recordings in ${folder} yet. Record with: coa record proxy --to <server>`
      : `no recorded run begins with "${id}"; the newest are: ${known.join(", ")}`,
  );
}
