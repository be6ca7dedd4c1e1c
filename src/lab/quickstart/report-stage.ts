/** One table and one page: what the model saves and what it loses, against teams with long and with short prompts. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compareEvaluations, comparisonReport } from "../../evaluate/compare-evaluations.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { comparisonTable } from "../../report/comparison-table.ts";
import { resultSentence } from "../../report/result-sentence.ts";
import { systemsOf } from "./evaluate-stage.ts";
import type { Stage } from "./stage.ts";

export const reportStage: Stage = {
  name: "report",
  what: "one table and one page with everything side by side",
  async run({ folder: run, imperfect }, folder) {
    const evaluations: StoredEvaluation[] = [];
    const systems = systemsOf(imperfect);
    for (const name of systems) evaluations.push(await readEvaluation(join(run, "evaluate", name)));
    const comparison = compareEvaluations(evaluations);
    const title = imperfect > 0 ? "Quickstart with an imperfect team" : "Quickstart";
    await writeFile(join(folder, "report.html"), await comparisonReport(evaluations, comparison, { title }));
    const lines = [comparisonTable(comparison)];
    if (imperfect > 0)
      lines.push(
        "",
        `The team erred in ${100 * imperfect} % of its runs and nothing filtered them: SFT copied the errors, RL had only right or wrong to go by.`,
      );
    await writeFile(join(folder, "table.txt"), `${lines.join("\n")}\n`);
    const [before, after] = ["chain-sft", "chain-rl"].map(
      (name) =>
        evaluations.find(({ summary }) => summary.system === `${name}${imperfect > 0 ? "-sampled" : "-failing"}`)!,
    ) as [StoredEvaluation, StoredEvaluation];
    const won = before.records.find(
      ({ taskId, grade }) =>
        !grade?.correct && after.records.some((one) => one.taskId === taskId && one.grade?.correct),
    );
    const question = before.tasks.find(({ id }) => id === won?.taskId)?.question;
    const rest = after.records.find(({ taskId }) => taskId === won?.taskId)?.answer;
    return {
      page: join(folder, "report.html"),
      line: resultSentence(comparison),
      example: won ? `${question} After SFT: ${won.answer ?? "no answer"}. After RL: ${rest}, which is right.` : "",
    };
  },
};

export async function readTable(run: string): Promise<string> {
  return readFile(join(run, "report", "table.txt"), "utf8");
}
