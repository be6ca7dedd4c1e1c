/**
 * Whether work runs is known by its lock, not by its manifest: a process that was killed has no time to write that it
 * ended. What its manifest still calls running, and whose lock nobody holds who lives, was stopped.
 */
import { join } from "node:path";
import { lockName } from "./claim-folder.ts";
import { isLocked } from "./lock.ts";
import type { ManifestProgress } from "./manifest.ts";

/** What became of a stage's work; `stopped`: killed, failed without a word, or the machine was restarted. */
export type WorkState = ManifestProgress["state"] | "stopped";

/** The state of the work in a folder, or in a single file of records. */
export async function workState(path: string, { state }: ManifestProgress): Promise<WorkState> {
  if (state !== "running") return state;
  return (await isLocked(join(path, lockName))) || (await isLocked(`${path}.lock`)) ? "running" : "stopped";
}
