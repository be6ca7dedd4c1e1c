import { openDataset } from "../../dataset/dataset-folder.ts";
import { datasetStats } from "../../dataset/dataset-stats.ts";
import { defineCommand, onePositional } from "../command.ts";
import { table } from "../output.ts";

export default defineCommand({
  name: "dataset stats",
  examples: ["coa dataset stats .coa/datasets/lab", "coa dataset stats .coa/datasets/lab --json"],
  summary: "Count a dataset: examples, tokens, share that is trained, lengths, what was dropped and why.",
  arguments: "<dataset folder>",
  options: {},
  async run({ values, positionals, out }) {
    const dataset = await openDataset(onePositional(this, positionals, "a dataset folder"));
    const stats = await datasetStats(dataset);
    const { dropped, cut, fingerprint } = dataset.manifest;
    if (values.json) {
      out.json({ ...stats, dropped, cut, fingerprint });
      return 0;
    }
    const { lengths } = stats;
    const rows = [
      ["examples", String(stats.examples)],
      ["tasks", String(stats.tasks)],
      ["tokens", String(stats.tokens)],
      ["trained", `${stats.trainedTokens} (${((100 * stats.trainedTokens) / Math.max(1, stats.tokens)).toFixed(1)} %)`],
      [
        "length",
        `min ${lengths.min}, median ${lengths.p50}, mean ${lengths.mean.toFixed(0)}, p90 ${lengths.p90}, p99 ${lengths.p99}, max ${lengths.max}`,
      ],
      [
        "profiles",
        Object.entries(stats.profiles)
          .map(([name, count]) => `${name} ${count}`)
          .join(", "),
      ],
      [
        "dropped",
        Object.entries(dropped)
          .map(([reason, count]) => `${reason} ${count}`)
          .join(", ") || "none",
      ],
      ["cut", String(cut)],
      ["fingerprint", fingerprint.slice(0, 16)],
    ];
    out.print(table(rows));
    const most = Math.max(1, ...stats.histogram.map((bucket) => bucket.count));
    const bars = stats.histogram.map(({ upTo, count }) => [
      `≤ ${upTo}`,
      String(count),
      "█".repeat(Math.ceil((40 * count) / most)),
    ]);
    out.print(table(bars, ["right", "right", "left"]));
    return 0;
  },
});
