/** One table and one page: what the model saves and what it loses, with the honest rows beside the flattering ones. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { comparePaired } from "../../evaluate/metrics/statistics.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { comparisonReport } from "../../evaluate/report/comparison-report.ts";
import { comparisonTable } from "../../evaluate/report/comparison-table.ts";

import { systemNames } from "./evaluate-stage.ts";
import type { Stage } from "./stage.ts";

export const reportStage: Stage = {
  name: "report",
  what: "one table and one page with everything side by side",
  async run({ folder: story, imperfect }, folder) {
    const evaluations: StoredEvaluation[] = [];
    for (const name of systemNames) evaluations.push(await readEvaluation(join(story, "evaluate", name)));
    const comparison = compareEvaluations(evaluations);
    const title = imperfect > 0 ? "Quickstart with an imperfect team" : "Quickstart";
    await writeFile(join(folder, "report.html"), await comparisonReport(evaluations, comparison, { title }));
    const lines = [comparisonTable(comparison), "", ...gains(evaluations)];
    await writeFile(join(folder, "table.txt"), `${lines.join("\n")}\n`);
    return { page: join(folder, "report.html") };
  },
};

/** What RL added to SFT on the same tasks, greedy and sampled, with the chance that it is luck. */
function gains(evaluations: readonly StoredEvaluation[]): string[] {
  const successes = (name: string) => {
    const records = evaluations.find((evaluation) => evaluation.summary.system === name)?.records ?? [];
    return records.map((record) => (record.grade.correct ? 1 : 0));
  };
  return [
    ["greedy", ""],
    ["at temperature 1", "-sampled"],
  ].map(([how, suffix]) => {
    const { difference, pValue, firstBetter, secondBetter } = comparePaired(
      successes(`chain-sft${suffix}`),
      successes(`chain-rl${suffix}`),
    );
    const points = `${difference.value >= 0 ? "+" : ""}${(100 * difference.value).toFixed(1)} points`;
    return `RL against SFT, ${how}: ${points} (${secondBetter} tasks gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)})`;
  });
}

/** The table as the stage wrote it. */
export async function readTable(story: string): Promise<string> {
  return readFile(join(story, "report", "table.txt"), "utf8");
}
