import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { openWorkspace } from "../../base/files/workspace.ts";
import { compareEvaluations, comparisonReport } from "../../evaluate/compare-evaluations.ts";
import { readEvaluation, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { recountTokens } from "../../evaluate/recount-tokens.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { comparisonTable } from "../../report/comparison-table.ts";
import type { Comparison } from "../../report/figures.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { openFile, openFlag } from "../open-file.ts";
import { text } from "../setting.ts";

/** An evaluation by its folder, or by its name in the workspace. */
export async function readNamed(name: string): Promise<StoredEvaluation> {
  const folder = existsSync(join(name, "journal.jsonl")) ? name : (await openWorkspace()).path("evals", name);
  return readEvaluation(folder, { grader: taskGrader() });
}

/** The same comparison, its tokens counted again with another tokenizer. */
async function recountedBy(evaluations: readonly StoredEvaluation[], folder: string): Promise<Comparison["recounted"]> {
  const tokenizer = await loadTokenizer(folder);
  const count = (text: string) => tokenizer.encode(text).length;
  const measured: StoredEvaluation[] = [];
  for (const evaluation of evaluations) measured.push(await recountTokens(evaluation, count));
  const { rows } = compareEvaluations(measured);
  return { name: nameOf(folder), rows };
}

/** `tokenizer-qwen2_5` of `…/tokenizer-qwen2_5/models`: what a reader can recognise it by. */
function nameOf(folder: string): string {
  return (
    resolve(folder)
      .split(/[\\/]/)
      .findLast((part) => part !== "models" && part !== "model") ?? folder
  );
}

export default defineCommand({
  summary:
    "Compare evaluations on the same tasks: one sentence, one table, one HTML report. The first team is the baseline; without a team, the first named.",
  arguments: "<evaluation> <other>…",
  examples: [
    "coa eval compare team chain-sft chain-rl",
    "coa eval compare team chain-rl --html report.html",
    "coa eval compare team chain-rl --ruler models/qwen2.5",
  ],
  options: {
    ruler: text("Measure both sides alike: count their tokens again with this folder's tokenizer.json", { valueName: "folder" }),
    html: text("Where the HTML report goes (default: into the workspace)", { valueName: "file", group: "output" }),
    title: text("Title of the report", { valueName: "text", group: "output" }),
    open: openFlag,
  }, // biome-ignore format: one flag a line
  async run({ values, positionals, out }) {
    if (positionals.length < 2) throw new MissingArgument("two evaluations or more");
    const evaluations = await Promise.all(positionals.map(readNamed));
    const comparison: Comparison = {
      ...compareEvaluations(evaluations),
      ...(values.ruler !== undefined && { recounted: await recountedBy(evaluations, values.ruler) }),
    };
    const names = positionals.map((name) => basename(name));
    const file = values.html ?? (await openWorkspace()).path("evals", `${names.join("-vs-")}.html`);
    const title = values.title ?? names.join(" vs ");
    await writeFile(file, comparisonReport(evaluations, comparison, { title }));
    if (values.open) await openFile(file, out.note);
    return { json: { ...comparison, report: file }, text: [comparisonTable(comparison), `\nreport: ${file}`] };
  },
});
