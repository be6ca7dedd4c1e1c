/** The comparison as one HTML file that needs nothing else: plots, figures, the tasks where systems differ. */
import {
  comparisonCells,
  noPriceLine,
  pathLine,
  perSuccess,
  provenanceLines,
  recountedCells,
  rightWords,
  successWord,
  trainingLines,
} from "./comparison-table.ts";
import type { Comparison, Summary } from "./figures.ts";
import { count, duration, moneySpent, percent, percentWithInterval } from "./format-figures.ts";
import { escapeHtml, htmlPage, htmlTable } from "./page.ts";
import { resultSentence, successText } from "./result-sentence.ts";
import { colour, groupedBars, scatterPlot, stackedBars } from "./svg-plots.ts";

export interface ReportOptions {
  title?: string;
  /** Questions by task id, for the examples. */
  questions?: ReadonlyMap<string, { question: string; answers: readonly string[] }>;
  /** Examples to show where systems differ. */
  examples?: number;
}

export function comparisonHtml(comparison: Comparison, options: ReportOptions = {}): string {
  const { title = "Comparison" } = options;
  const { rows, baseline, tasks } = comparison;
  const examples = shownExamples(comparison, options);
  return htmlPage(
    title,
    `<p class="lead">${escapeHtml(resultSentence(comparison))}</p>
<details><summary>Intervals behind this sentence</summary>
${htmlTable(
  [["system", "success, 95 % interval", "saves"]].concat(
    rows.map(({ system, summary, saving }) => [
      system,
      successText(summary),
      saving?.billedTokens ? `${percentWithInterval(saving.billedTokens)} of billed tokens` : "–",
    ]),
  ),
)}
${trainingLines(comparison)
  .map((line) => `<p>${escapeHtml(line)}</p>`)
  .join("\n")}</details>
<p class="note">${rows.length} systems on ${tasks} tasks. Savings are against <b>${escapeHtml(baseline.system)}</b> (topology: ${escapeHtml(baseline.topology)}), or the first team under the same conditions.</p>
${legend(comparison)}
${htmlTable(comparisonCells(comparison))}
${comparison.recounted ? `<p class="note">The same runs in the tokens of a tokenizer that belongs to no side:</p>\n${htmlTable(recountedCells(comparison))}` : ""}
<p class="note">Intervals are 95 % bootstrap intervals over tasks. Tokens, tool calls, time and money are ${perSuccess(comparison)} ${pathLine(comparison)} ${noPriceLine} Billed tokens are prompt and completion of every call; computed tokens are what a perfect prefix cache would still have to process. Differences are tested by flipping signs of the paired outcomes.</p>
${provenanceLines(comparison)
  .map((line) => `<p class="note"><b>${escapeHtml(line)}</b></p>`)
  .join("\n")}
<h2>${successWord(comparison) === "success" ? "Success" : "Agreement"} against tokens</h2>
${scatterPlot(
  rows.map((row, i) => ({ name: row.system, x: row.summary.perTask.billedTokens, y: row.summary.success, colour: i })),
  "billed tokens per task",
)}
${groupSection(comparison, "byFamily", "By family")}
${groupSection(comparison, "byLevel", "By level")}
<h2>Where the tokens go</h2>
${stackedBars(
  rows.map((row) => ({ name: row.system, parts: perRun(row.summary.tokensByRole, row.summary) })),
  "billed tokens per task",
)}
<p class="note">Of a team: billed tokens of each agent's role. Of a chain: billed tokens shared over its tags by their length, because every call reads the whole sequence again.</p>
<h2>Tool calls</h2>
${stackedBars(
  rows.map((row) => ({ name: row.system, parts: perRun(row.summary.toolCalls, row.summary) })),
  "calls per task",
)}
<h2>Outcomes</h2>
${htmlTable(outcomeCells(comparison))}
<h2>Where they differ</h2>
<p class="note">${comparison.differing.length} of ${tasks} tasks came out differently; ${examples.length} are shown. What was done for one: <code>coa show &lt;evaluation&gt; &lt;task&gt;</code>, or <code>coa studio</code>.</p>
${examples.join("\n")}`,
  );
}

function legend({ rows }: Comparison): string {
  return `<p class="legend">${rows.map((row, i) => `<span><i style="background:${colour(i)}"></i>${escapeHtml(row.system)}</span>`).join("")}</p>`;
}

function groupSection({ rows }: Comparison, by: "byFamily" | "byLevel", heading: string): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.summary[by])))];
  if (names.length < 2) return "";
  const bars = names.flatMap((group) =>
    rows.flatMap((row, i) => {
      const figures = row.summary[by][group];
      return figures
        ? [
            {
              group: `${group} (${figures.tasks})`,
              series: row.system,
              value: figures.success,
              colour: i,
              note: `${count(figures.perTask.billedTokens)} billed tokens per task`,
            },
          ]
        : [];
    }),
  );
  return `<h2>${heading}</h2>\n${groupedBars(bars)}`;
}

function perRun(totals: Record<string, number>, { runs, missing }: Summary): Record<string, number> {
  return Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, value / Math.max(1, runs - missing)]));
}

function outcomeCells({ rows }: Comparison): string[][] {
  const words = wordsOf({ rows });
  const head = [
    "system",
    "runs",
    words.right,
    words.wrong,
    "unanswered",
    "crashed",
    "not graded",
    "not run",
    "pass@k",
    "majority",
    "time per task",
    "money per task",
    `tokens when ${words.right}`,
  ];
  return [
    head,
    ...rows.map(({ system, summary: s }) => [
      system,
      ...[s.runs, s.successes, s.wrong, s.unanswered, s.crashed, s.undecided, s.missing].map(String),
      Object.entries(s.passAtK)
        .map(([k, value]) => `${k}: ${percent(value)}`)
        .join(", "),
      s.majority === null ? "–" : percent(s.majority),
      s.scripted ? "scripted" : duration(s.perTask.wallMs),
      moneySpent(s.perTask.costUsd),
      count(s.whenRight?.billedTokens),
    ]),
  ];
}

/** How outcomes are called: with assumed answers nothing is right or wrong. */
function wordsOf({ rows }: Pick<Comparison, "rows">) {
  return rightWords(rows.map(({ summary }) => summary.measure?.right).find((right) => right?.assumed));
}

function shownExamples(comparison: Comparison, { questions, examples = 20 }: ReportOptions): string[] {
  const words = wordsOf(comparison);
  return comparison.differing.slice(0, examples).map(({ taskId, outcomes }) => {
    const task = questions?.get(taskId);
    const answers = Object.entries(outcomes).map(([system, outcome]) => {
      const mark =
        outcome.success === 1 ? words.right : outcome.success === 0 ? words.wrong : percent(outcome.success, 0);
      return `<li class="${outcome.success > 0.5 ? "right" : "wrong"}"><b>${escapeHtml(system)}</b> <em>${mark}</em> ${escapeHtml(outcome.answer ?? "no answer")}<small>${escapeHtml(outcome.reason)}</small></li>`;
    });
    const gold = task
      ? `<p class="gold">wanted: ${escapeHtml(task.answers.join(" or ") || "all tests passed")}</p>`
      : "";
    return `<section id="${escapeHtml(taskId)}"><h3>${escapeHtml(taskId)}</h3><p>${escapeHtml(task?.question.slice(0, 800) ?? "")}</p>${gold}<ul>${answers.join("")}</ul></section>`;
  });
}
