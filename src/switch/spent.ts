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

/** Remembers that these tasks are looked at; the part of the level that other fits have left. */
export async function spendTasks(workspace: string, key: string, tasks: readonly string[]): Promise<number> {
  const path = join(workspace, "switch", "fits.jsonl");
  const asked = new Set(tasks);
  const fits = await readAllJsonl<Fit>(path);
  const others = fits.filter((fit) => fit.key !== key && fit.tasks.some((task) => asked.has(task)));
  const file = await openJsonl<Fit>(path);
  await file.append({ key, tasks: [...tasks] });
  await file.close();
  return 0.5 ** new Set(others.map((fit) => fit.key)).size;
}
