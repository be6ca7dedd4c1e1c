import { writeFile } from "node:fs/promises";
import { chosenSuccess } from "../../evaluate/best-of.ts";
import { compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { comparisonReport } from "../../evaluate/comparison-report.ts";
import { byJudge } from "../../evaluate/judge-choice.ts";
import { readRuns, type StoredEvaluation } from "../../evaluate/read-evaluation.ts";
import { textTable } from "../../report/comparison-table.ts";
import { count, percent, percentWithInterval } from "../../report/format-figures.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import { openFile, openFlag } from "../open-file.ts";
import { readNamed } from "./eval-stored.ts";

const examples = [
  "coa eval report chain-rl",
  "coa eval report chain-rl --out report.html",
  "coa eval report chain-rl --json",
];

export default defineCommand({
  name: "eval report",
  summary: "Show one evaluation: by family and level, outcomes, what went wrong. Works on an unfinished one too.",
  arguments: "<name>",
  examples,
  options: {
    out: { type: "string", valueName: "file", describe: "Write an HTML report here" },
    open: openFlag,
    "choose-model": {
      type: "string",
      valueName: "name",
      describe: "Let this model pick the best of each task's samples (best of N)",
    },
    "choose-url": {
      type: "string",
      valueName: "url",
      describe: "Its OpenAI-compatible server (default OPENAI_BASE_URL)",
    },
    wrong: { type: "string", default: "5", valueName: "n", describe: "Wrong answers to show" },
  },
  async run({ values, positionals, out, signal }) {
    const name = onePositional(this, positionals, "an evaluation");
    const evaluation = await readNamed(name);
    const { summary, records } = evaluation;
    if (values.out) {
      const comparison = compareEvaluations([evaluation]);
      await writeFile(values.out, await comparisonReport([evaluation], comparison, { title: name }));
      out.note(`report: ${values.out}`);
      if (values.open) await openFile(values.out, out.note);
    }
    const bestOfN = await bestOf(evaluation, values, signal);
    if (values.json) {
      out.json({ ...summary, ...(bestOfN === undefined ? {} : { bestOfN }) });
      return 0;
    }
    if (summary.what) out.print(`${name}: ${summary.what}`);
    const groups = { family: summary.byFamily, level: summary.byLevel };
    const rows = Object.entries(groups).flatMap(([kind, table]) =>
      Object.entries(table)
        .filter(([group]) => group !== "none")
        .map(([group, figures]) => [
          `${kind} ${group}`,
          String(figures.tasks),
          percentWithInterval(figures.success),
          count(figures.perTask.billedTokens),
          count(figures.perTask.toolCalls),
        ]),
    );
    out.print(
      textTable([
        ["", "tasks", "success", "tokens/task", "tools/task"],
        [
          "all",
          String(summary.tasks),
          percentWithInterval(summary.success),
          count(summary.perTask.billedTokens),
          count(summary.perTask.toolCalls),
        ],
        ...rows,
      ]),
    );
    out.print(
      `\nof ${summary.runs} runs: right ${summary.successes}, wrong ${summary.wrong}, unanswered ${summary.unanswered}, crashed ${summary.crashed}, not graded ${summary.undecided}, not run ${summary.missing}`,
    );
    if (summary.samples > 1) out.print(`majority of ${summary.samples}: ${percent(summary.majority ?? 0)}`);
    if (bestOfN !== undefined)
      out.print(`best of ${summary.samples}, picked by ${values["choose-model"]}: ${percent(bestOfN)}`);
    for (const record of records
      .filter(({ grade }) => grade.correct !== true)
      .slice(0, numberOf(values.wrong, "wrong", { min: 0, integer: true }))) {
      out.print(`\n${record.taskId}: ${record.answer ?? "no answer"}\n  ${record.grade.reason}`);
    }
    return 0;
  },
});

/** Success when a model picks one of each task's answers; undefined where no model was named. */
async function bestOf(
  { folder, tasks, records }: StoredEvaluation,
  values: { "choose-model"?: string; "choose-url"?: string },
  signal: AbortSignal,
): Promise<number | undefined> {
  if (values["choose-model"] === undefined) return undefined;
  const { openaiCompatible } = await import("../../models/openai-compatible.ts");
  const model = openaiCompatible({ baseURL: values["choose-url"], model: values["choose-model"] });
  try {
    const runs = await readRuns(folder, new Set(records.flatMap(({ run }) => run?.id ?? [])));
    return await chosenSuccess(tasks, records, byJudge(model), { runs, signal });
  } finally {
    await model.close();
  }
}
