import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { UsageError } from "../../core/errors.ts";
import type { Metrics } from "../../train/run-folder.ts";
import { defineCommand, onePositional } from "../command.ts";
import { figureNames, plotMetrics } from "../plot-metrics.ts";

const examples = ["coa train plot .coa/sft", "coa train plot .coa/rl --figure meanReward"];

export default defineCommand({
  name: "train plot",
  summary: "Draw a training run's curve in the terminal; with --json print its metrics.",
  arguments: "<run folder>",
  examples,
  options: { figure: { type: "string", valueName: "name", describe: "Which figure; loss or mean reward by default" } },
  async run({ values, positionals, out }) {
    const folder = onePositional(this, positionals, "a run folder");
    const file = join(folder, "metrics.jsonl");
    if (!existsSync(file)) throw new UsageError(`${folder} is not a training run: it has no metrics.jsonl`);
    const metrics = await readAllJsonl<Metrics>(file);
    const figure = values.figure ?? (figureNames(metrics).includes("meanReward") ? "meanReward" : "loss");
    if (values.json) out.json(metrics);
    else out.print(plotMetrics(metrics, figure, { width: Math.min(100, out.width - 14), height: 14 }));
    return 0;
  },
});
