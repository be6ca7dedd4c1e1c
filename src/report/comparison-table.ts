/** A comparison as one table of text, for the terminal. */
import type { CheckCalibration, Comparison } from "../core/figures.ts";
import { count, duration, money, percent, percentWithInterval, pValue } from "./format-figures.ts";

/** The rows of the table, headings first. */
export function comparisonCells(comparison: Comparison): string[][] {
  const { baseline } = comparison;
  const head = [
    "system",
    "success",
    "tokens",
    "computed",
    "tools",
    "time",
    "money",
    `saves vs ${baseline.system} (${baseline.topology})`,
    "difference",
  ];
  const rows = comparison.rows.map(({ system, summary, paired, saving }) => {
    const costs = summary.perSuccess;
    const saved = saving ? `${part(saving.billedTokens)} billed, ${part(saving.computedTokens)} computed` : "–";
    const difference = paired ? `${signed(paired.difference.value)} points, ${pValue(paired.pValue)}` : "–";
    return [
      system,
      percentWithInterval(summary.success),
      count(costs?.billedTokens),
      count(costs?.computedTokens),
      count(costs?.toolCalls),
      duration(costs?.wallMs),
      money(costs?.costUsd),
      saved,
      difference,
    ];
  });
  return [head, ...rows];
}

/** The table as text, with what its columns mean. */
export function comparisonTable(comparison: Comparison): string {
  const cells = comparisonCells(comparison);
  const notes = comparison.rows
    .map(({ system, summary }) => ({ ...summary, system }))
    .filter(({ crashed, undecided, missing }) => crashed + undecided + missing > 0);
  return [
    textTable(cells),
    "",
    `${comparison.tasks} tasks in common. Tokens, computed tokens, tool calls, time and money are per success: everything spent, failures included, divided by the successes.`,
    ...comparison.rows.flatMap(({ system, summary }) => checkLine(system, summary.check)),
    ...notes.map(
      ({ system, runs, crashed, undecided, missing }) =>
        `${system}: of ${runs} runs ${crashed} crashed, ${undecided} could not be graded, ${missing} were not run; all count as no success.`,
    ),
  ].join("\n");
}

/** What the check of a system is worth, where it has one. */
function checkLine(system: string, check: CheckCalibration | null | undefined): string[] {
  if (!check) return [];
  const area = check.auc === null ? "–" : check.auc.toFixed(3);
  return [
    `${system}: its check has area under the curve ${area}, Brier score ${check.brier.toFixed(3)} (${check.runs} answers).`,
  ];
}

/** Columns padded to the same width. */
export function textTable(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  "),
  );
  return [lines[0]!, widths.map((width) => "─".repeat(width)).join("  "), ...lines.slice(1)].join("\n");
}

function part(saved: { value: number } | null): string {
  return saved ? percent(saved.value, 0) : "–";
}

function signed(share: number): string {
  return `${share >= 0 ? "+" : "−"}${Math.abs(share * 100).toFixed(1)}`;
}
