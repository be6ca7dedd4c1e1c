/** One table and one page: what the model saves and what it loses, against teams with long and with short prompts. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { comparisonReport } from "../../evaluate/comparison-report.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { comparePaired } from "../../evaluate/statistics.ts";
import { comparisonTable } from "../../report/comparison-table.ts";
import type { Estimate } from "../../report/figures.ts";
import { disturbances } from "../failing-tools.ts";
import { systemsOf } from "./evaluate-stage.ts";
import type { Stage } from "./stage.ts";

export const reportStage: Stage = {
  name: "report",
  what: "one table and one page with everything side by side",
  async run({ folder: run, imperfect, settings }, folder) {
    const evaluations: StoredEvaluation[] = [];
    const systems = systemsOf(imperfect);
    for (const name of systems) evaluations.push(await readEvaluation(join(run, "evaluate", name)));
    const comparison = compareEvaluations(evaluations);
    const title = imperfect > 0 ? "Quickstart with an imperfect team" : "Quickstart";
    await writeFile(join(folder, "report.html"), await comparisonReport(evaluations, comparison, { title }));
    const lines = [
      comparisonTable(comparison),
      "",
      ...gains(evaluations, imperfect, disturbances[settings.failing].says),
      "",
      ...savings(evaluations),
    ];
    if (imperfect > 0)
      lines.push(
        "",
        `The team erred in ${100 * imperfect} % of its runs and nothing filtered them: SFT copied the errors, RL had only right or wrong to go by.`,
      );
    await writeFile(join(folder, "table.txt"), `${lines.join("\n")}\n`);
    return { page: join(folder, "report.html") };
  },
};

/** What RL added to SFT on the same tasks, in both worlds or greedy and sampled, with the p-value. */
function gains(evaluations: readonly StoredEvaluation[], imperfect: number, failure: string): string[] {
  const successes = (name: string) => {
    const records = evaluations.find((evaluation) => evaluation.summary.system === name)?.records ?? [];
    return records.map((record) => (record.grade.correct ? 1 : 0));
  };
  return [
    ["greedy", ""],
    imperfect > 0 ? ["at temperature 1", "-sampled"] : [`greedy, four in ten ${failure}`, "-failing"],
  ].map(([how, suffix]) => {
    const { difference, pValue, firstBetter, secondBetter } = comparePaired(
      successes(`chain-sft${suffix}`),
      successes(`chain-rl${suffix}`),
    );
    const points = `${difference.value >= 0 ? "+" : ""}${(100 * difference.value).toFixed(1)} points`;
    return `RL against SFT, ${how}: ${points} (${secondBetter} tasks gained, ${firstBetter} lost, p = ${pValue.toPrecision(2)})`;
  });
}

/** What the chain saves per success against every team, with long and with short prompts. */
function savings(evaluations: readonly StoredEvaluation[]): string[] {
  const named = (name: string) => evaluations.find((evaluation) => evaluation.summary.system === name)!;
  const percent = (value: number) => (100 * value).toFixed(1);
  const text = (saved: Estimate | null) =>
    saved ? `${percent(saved.value)} % [${percent(saved.low)}, ${percent(saved.high)}]` : "no successes to compare";
  return [
    "Tokens per success that chain-rl saves, counted with the model's own vocabulary (95 % intervals):",
    ...systemsOf(0)
      .filter((name) => name.startsWith("team-"))
      .map((name) => {
        const { saving } = compareEvaluations([named(name), named("chain-rl")]).rows[1]!;
        return `  against ${name}: billed ${text(saving!.billedTokens)}, computed ${text(saving!.computedTokens)}`;
      }),
  ];
}

/** The table as the stage wrote it. */
export async function readTable(run: string): Promise<string> {
  return readFile(join(run, "report", "table.txt"), "utf8");
}
