/** A training: its curve in the terminal, or its rollouts. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAllJsonl, readJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { Metrics } from "../../train/run-folder.ts";
import { figureNames, plotMetrics } from "../plot-metrics.ts";
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
  const figure = asked.figure ?? (figureNames(metrics).includes("meanReward") ? "meanReward" : "loss");
  return {
    json: metrics,
    text: plotMetrics(metrics, figure, { width: Math.min(100, asked.out.width - 14), height: 14 }),
    notes: [`other figures (--figure): ${figureNames(metrics).join(", ")}`],
    ...(records && { records }),
  };
};

function rolloutsOf(folder: string): (() => AsyncIterable<unknown>) | undefined {
  const file = join(folder, "rollouts.jsonl");
  return existsSync(file) ? () => readJsonl(file) : undefined;
}
