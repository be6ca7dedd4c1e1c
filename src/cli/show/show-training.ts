/** A training: the curves of its figures in the terminal, or its rollouts. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAllJsonl, readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { Metrics } from "../../train/run-folder.ts";
import { plotMetrics, table } from "../output.ts";
import { recordsShown } from "./show-records.ts";
import type { View } from "./shown.ts";

/** Shows a training's folder; an item is one of its rollouts. */
export const showTraining: View = async (folder, asked) => {
  const records = rolloutsOf(folder);
  if (asked.item !== undefined || asked.all) {
    if (!records) throw new UsageError(`${folder} has no rollouts: it is not a run of coa train rl or opd`);
    const shown = await recordsShown(records, folder, asked);
    return asked.item === undefined ? { ...shown, records } : shown;
  }
  const file = join(folder, "metrics.jsonl");
  if (!existsSync(file)) throw new UsageError(`${folder} has no metrics.jsonl: nothing was trained in it yet`);
  const metrics = await readAllJsonl<Metrics>(file);
  const head = ["figure", "first", `steps ${metrics[0]?.step ?? 0} to ${metrics.at(-1)?.step ?? 0}`, "last"];
  return {
    json: metrics,
    text: table([head, ...plotMetrics(metrics)], ["left", "right", "left", "right"]),
    ...(records && { records }),
  };
};

function rolloutsOf(folder: string): (() => AsyncIterable<unknown>) | undefined {
  const file = join(folder, "rollouts.jsonl");
  return existsSync(file) ? () => readJsonl(file) : undefined;
}
