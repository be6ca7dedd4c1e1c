/** The comparison as one HTML file that needs nothing else: plots, figures, the tasks where systems differ, their runs. */
import type { Comparison } from "../evaluate/compare-evaluations.ts";
import type { Summary } from "../evaluate/summarise.ts";
import { comparisonCells } from "./comparison-table.ts";
import { count, duration, money, percent } from "./format-figures.ts";
import { runHtml } from "./run-html.ts";
import { colour, escapeHtml, groupedBars, scatterPlot, stackedBars } from "./svg-plots.ts";

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
export function htmlReport(comparison: Comparison, options: ReportOptions = {}): string {
  const { title = "Comparison" } = options;
  const { rows, baseline, tasks } = comparison;
  const examples = shownExamples(comparison, options);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>
<h1>${escapeHtml(title)}</h1>
<p class="lead">${escapeHtml(rows.map((row) => row.system).join(", "))} on ${tasks} tasks. Savings are against <b>${escapeHtml(baseline.system)}</b> (topology: ${escapeHtml(baseline.topology)}).</p>
${legend(comparison)}
<div class="wide">${table(comparisonCells(comparison))}</div>
<p class="note">Intervals are 95 % bootstrap intervals over tasks. Tokens, tool calls, time and money are per success: everything spent, failures included, divided by the successes. Billed tokens are prompt and completion of every call; computed tokens are what a perfect prefix cache would still have to process. Differences are tested by flipping signs of the paired outcomes.</p>
<h2>Success against tokens</h2>
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
<div class="wide">${table(outcomeCells(comparison))}</div>
<h2>Where they differ</h2>
<p class="note">${comparison.differing.length} of ${tasks} tasks came out differently; ${examples.length} are shown.</p>
${examples.join("\n")}
</main>
</html>
`;
}

function legend({ rows }: Comparison): string {
  return `<p class="legend">${rows.map((row, i) => `<span><i style="background:${colour(i)}"></i>${escapeHtml(row.system)}</span>`).join("")}</p>`;
}

function table([head, ...rows]: string[][]): string {
  const cells = (row: string[], tag: string) =>
    `<tr>${row.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${cells(head!, "th")}</thead><tbody>${rows.map((row) => cells(row, "td")).join("")}</tbody></table>`;
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
  const head = [
    "system",
    "runs",
    "right",
    "wrong",
    "unanswered",
    "crashed",
    "not graded",
    "not run",
    "pass@k",
    "majority",
    "time per task",
    "money per task",
    "tokens when right",
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
      money(s.perTask.costUsd),
      count(s.whenRight?.billedTokens),
    ]),
  ];
}

function shownExamples(comparison: Comparison, { questions, runs, examples = 20 }: ReportOptions): string[] {
  return comparison.differing.slice(0, examples).map(({ taskId, outcomes }) => {
    const task = questions?.get(taskId);
    const answers = Object.entries(outcomes).map(([system, outcome]) => {
      const run =
        outcome.runId === undefined
          ? undefined
          : (runs?.get(runKey(system, outcome.runId)) ?? runs?.get(outcome.runId));
      const mark = outcome.success === 1 ? "right" : outcome.success === 0 ? "wrong" : percent(outcome.success, 0);
      return `<li class="${outcome.success > 0.5 ? "right" : "wrong"}"><b>${escapeHtml(system)}</b> <em>${mark}</em> ${escapeHtml(outcome.answer ?? "no answer")}<small>${escapeHtml(outcome.reason)}</small>${run ? runHtml(run) : ""}</li>`;
    });
    const gold = task
      ? `<p class="gold">wanted: ${escapeHtml(task.answers.join(" or ") || "all tests passed")}</p>`
      : "";
    return `<section id="${escapeHtml(taskId)}"><h3>${escapeHtml(taskId)}</h3><p>${escapeHtml(task?.question.slice(0, 800) ?? "")}</p>${gold}<ul>${answers.join("")}</ul></section>`;
  });
}

const style = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2430;--soft:#5b6675;--line:#dfe4ea;--card:#f6f8fa;--c0:#2563a8;--c1:#c2571a;--c2:#2f8a57;--c3:#8a4fb0;--c4:#b8860b;--c5:#c03a5b}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e4e9ef;--soft:#98a4b3;--line:#2b333d;--card:#1a2028;--c0:#6aa9ee;--c1:#f09055;--c2:#63c88f;--c3:#bb8ae0;--c4:#dfb74a;--c5:#ee7d98}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:24px 16px 64px}h1{font-size:1.7rem;margin:.2em 0}h2{margin:2em 0 .4em;font-size:1.25rem}h3{margin:1.2em 0 .3em;font-size:1rem}
.lead{font-size:1.05rem}.note,small{color:var(--soft);font-size:.85rem}small{display:block}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;min-width:100%}th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:right}td:nth-child(2){white-space:nowrap}th:first-child,td:first-child{text-align:left;font-weight:600}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg text.label{fill:var(--fg);font-weight:600}svg .own text.label{fill:var(--own)}.grid{stroke:var(--line)}.interval{stroke:var(--fg);stroke-width:1.5}
.legend span{margin-right:18px}.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:4px 16px 12px;margin:12px 0}section p{white-space:pre-wrap;overflow-wrap:anywhere}ul{list-style:none;padding:0;margin:0}li{border-left:4px solid var(--line);padding:4px 0 4px 12px;margin:8px 0;overflow-wrap:anywhere}li.right{border-color:var(--c2)}li.wrong{border-color:var(--c5)}li em{color:var(--soft)}
details{margin-top:6px}summary{cursor:pointer;color:var(--c0)}.step{border-top:1px solid var(--line);padding:6px 0}.step b{color:var(--c3);font-size:.8rem}.step.tool b{color:var(--c4)}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:2px 0;font:12.5px/1.45 ui-monospace,monospace;max-height:22em;overflow:auto}
`;
