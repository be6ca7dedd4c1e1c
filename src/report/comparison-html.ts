/** The comparison as one HTML file that needs nothing else: plots, figures, the tasks where systems differ, their runs. */

import {
  comparisonCells,
  noPriceLine,
  pathLine,
  perSuccess,
  provenanceLines,
  recountedCells,
  rightWords,
  successWord,
} from "./comparison-table.ts";
import type { Comparison, Summary } from "./figures.ts";
import { count, duration, moneySpent, percent } from "./format-figures.ts";
import { escapeHtml, htmlPage, htmlTable } from "./page.ts";
import { runHtml } from "./run-html.ts";
import { colour, groupedBars, scatterPlot, stackedBars } from "./svg-plots.ts";

export interface ReportOptions {
  title?: string;
  /** Questions by task id, for the examples. */
  questions?: ReadonlyMap<string, { question: string; answers: readonly string[] }>;
  /** Runs by `runKey(system, id)`; those of shown examples are written into the file. */
  runs?: ReadonlyMap<string, unknown>;
  /** Examples to show where systems differ. */
  examples?: number;
}

/** Where a run is looked up: two systems may give their runs the same ids. */
export function runKey(system: string, id: string): string {
  return `${system}\u0000${id}`;
}

/** The whole report. */
export function comparisonHtml(comparison: Comparison, options: ReportOptions = {}): string {
  const { title = "Comparison" } = options;
  const { rows, baseline, tasks } = comparison;
  const examples = shownExamples(comparison, options);
  return htmlPage(
    title,
    `<p class="lead">${escapeHtml(rows.map((row) => row.system).join(", "))} on ${tasks} tasks. Savings are against <b>${escapeHtml(baseline.system)}</b> (topology: ${escapeHtml(baseline.topology)}).</p>
${legend(comparison)}
${htmlTable(comparisonCells(comparison))}
${comparison.recounted ? `<p class="note">The same runs in the tokens of a tokenizer that belongs to no side:</p>\n${htmlTable(recountedCells(comparison))}` : ""}
<p class="note">Intervals are 95 % bootstrap intervals over tasks. Tokens, tool calls, time and money are ${perSuccess(comparison)} ${pathLine(comparison)} ${noPriceLine} Billed tokens are prompt and completion of every call; computed tokens are what a perfect prefix cache would still have to process. Differences are tested by flipping signs of the paired outcomes.</p>
${provenanceLines(comparison)
  .map((line) => `<p class="note"><b>${escapeHtml(line)}</b></p>`)
  .join("\n")}
<h2>${successWord(comparison) === "success" ? "Success" : "Agreement"} against tokens</h2>
<h3>Billed tokens per task</h3>
${scatterPlot(
  rows.map((row, i) => ({ name: row.system, x: row.summary.perTask.billedTokens, y: row.summary.success, colour: i })),
  "billed tokens per task",
)}
<h3>Computed tokens per task</h3>
${scatterPlot(
  rows.map((row, i) => ({
    name: row.system,
    x: row.summary.perTask.computedTokens,
    y: row.summary.success,
    colour: i,
  })),
  "computed tokens per task",
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
${checkSection(comparison)}
<h2>Where they differ</h2>
<p class="note">${comparison.differing.length} of ${tasks} tasks came out differently; ${examples.length} are shown.</p>
${examples.join("\n")}`,
  );
}

/** How reliable the systems' own checks are. */
function checkSection({ rows }: Comparison): string {
  const cells = rows.flatMap(({ system, summary: { check } }) => {
    if (!check) return [];
    const area = (value: number | null | undefined) => (typeof value === "number" ? value.toFixed(3) : "–");
    return [[system, area(check.auc), area(check.surenessAuc), check.brier.toFixed(3), String(check.runs)]];
  });
  if (cells.length === 0) return "";
  return `<h2>Does the check check?</h2>
${htmlTable([["system", "area under the curve", "with its probability", "Brier score", "answers"], ...cells])}
<p class="note">The area is the chance that a right answer was scored higher than a wrong one: 0.5 says nothing, 1 tells all apart; beside it the same of the score with the probability that the model wrote it with, where it tells.</p>`;
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
      duration(s.perTask.wallMs),
      moneySpent(s.perTask.costUsd),
      count(s.whenRight?.billedTokens),
    ]),
  ];
}

/** How outcomes are called: with assumed answers nothing is right or wrong. */
function wordsOf({ rows }: Pick<Comparison, "rows">) {
  return rightWords(rows.map(({ summary }) => summary.measure?.right).find((right) => right?.assumed));
}

function shownExamples(comparison: Comparison, { questions, runs, examples = 20 }: ReportOptions): string[] {
  const words = wordsOf(comparison);
  return comparison.differing.slice(0, examples).map(({ taskId, outcomes }) => {
    const task = questions?.get(taskId);
    const answers = Object.entries(outcomes).map(([system, outcome]) => {
      const run =
        outcome.runId === undefined
          ? undefined
          : (runs?.get(runKey(system, outcome.runId)) ?? runs?.get(outcome.runId));
      const mark =
        outcome.success === 1 ? words.right : outcome.success === 0 ? words.wrong : percent(outcome.success, 0);
      return `<li class="${outcome.success > 0.5 ? "right" : "wrong"}"><b>${escapeHtml(system)}</b> <em>${mark}</em> ${escapeHtml(outcome.answer ?? "no answer")}<small>${escapeHtml(outcome.reason)}</small>${run ? runHtml(run) : ""}</li>`;
    });
    const gold = task
      ? `<p class="gold">wanted: ${escapeHtml(task.answers.join(" or ") || "all tests passed")}</p>`
      : "";
    return `<section id="${escapeHtml(taskId)}"><h3>${escapeHtml(taskId)}</h3><p>${escapeHtml(task?.question.slice(0, 800) ?? "")}</p>${gold}<ul>${answers.join("")}</ul></section>`;
  });
}
