/**
 * Every new fit on tasks that an earlier one was calibrated on spends confidence: among enough tries one would pass by luck.
 * The workspace remembers which tasks were used; each further fit on any of them gets half of the level of the one before,
 * so that all of them together stay within twice the first.
 */
import { join } from "node:path";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";

interface Fit {
  /** What was fitted, by value: the same fit again is not a new try. */
  key: string;
  tasks: string[];
}

const fileIn = (workspace: string) => join(workspace, "switch", "fits.jsonl");

/** How many other fits used any of these tasks. */
export async function fitsBefore(workspace: string, key: string, tasks: readonly string[]): Promise<number> {
  const asked = new Set(tasks);
  const fits = await readAllJsonl<Fit>(fileIn(workspace)).catch(() => []);
  const others = fits.filter((fit) => fit.key !== key && fit.tasks.some((task) => asked.has(task)));
  return new Set(others.map((fit) => fit.key)).size;
}

/** Remembers that these tasks were looked at. */
export async function rememberFit(workspace: string, key: string, tasks: readonly string[]): Promise<void> {
  const file = await openJsonl<Fit>(fileIn(workspace));
  await file.append({ key, tasks: [...tasks] });
  await file.close();
}
