/** A comparison as one table of text, for the terminal. */
import type { CheckCalibration, Comparison, Measure, Summary } from "./figures.ts";
import { count, duration, moneySpent, percent, percentWithInterval, pValue, signed } from "./format-figures.ts";

/** The rows of the table, headings first. */
export function comparisonCells(comparison: Comparison): string[][] {
  const { baseline } = comparison;
  const head = [
    "system",
    successWord(comparison),
    "tokens",
    "computed",
    "tools",
    ...(pathKnown(comparison) ? ["rounds", "path"] : []),
    "time",
    "money",
    `saves vs ${baseline.system} (${baseline.topology})`,
    "difference",
  ];
  const rows = comparison.rows.map(({ system, summary, paired, saving }) => {
    const costs = summary.perSuccess;
    const saved = saving ? `${part(saving.billedTokens)} billed, ${part(saving.computedTokens)} computed` : "–";
    const difference = paired ? `${signed(100 * paired.difference.value, 1)} points, ${pValue(paired.pValue)}` : "–";
    return [
      system,
      percentWithInterval(summary.success),
      count(costs?.billedTokens),
      count(costs?.computedTokens),
      count(costs?.toolCalls),
      ...(pathKnown(comparison) ? [count(costs?.rounds), duration(costs?.pathMs)] : []),
      duration(costs?.wallMs),
      moneySpent(costs?.costUsd),
      saved,
      difference,
    ];
  });
  return [head, ...rows];
}

/** Tokens and savings by a neutral tokenizer, headings first; empty where none was asked for. */
export function recountedCells({ recounted: other, baseline }: Comparison): string[][] {
  if (!other) return [];
  const head = [`counted by ${other.name}`, "tokens", "computed", `saves vs ${baseline.system} (${baseline.topology})`];
  const rows = other.rows.map(({ system, summary, saving }) => [
    system,
    count(summary.perSuccess?.billedTokens),
    count(summary.perSuccess?.computedTokens),
    saving ? `${part(saving.billedTokens)} billed, ${part(saving.computedTokens)} computed` : "–",
  ]);
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
    ...(comparison.recounted ? [textTable(recountedCells(comparison)), ""] : []),
    `${comparison.tasks} tasks in common. Tokens, computed tokens, tool calls, time and money are ${perSuccess(comparison)}`,
    ...(pathKnown(comparison) ? [pathLine(comparison)] : []),
    ...(comparison.rows.some(({ summary }) => summary.perTask.costUsd === 0) ? [noPriceLine] : []),
    ...provenanceLines(comparison),
    ...comparison.rows.flatMap(({ system, summary }) => checkLine(system, summary.check)),
    ...notes.map(
      ({ system, runs, crashed, undecided, missing }) =>
        `${system}: of ${runs} runs ${crashed} crashed, ${undecided} could not be graded, ${missing} were not run; all count as no ${successWord(comparison)}.`,
    ),
  ].join("\n");
}

export const noPriceLine = "Money is not known for systems whose evaluation was given no price (eval run --price).";

/** What the two columns of the critical path mean. */
export function pathLine(comparison: Comparison): string {
  return `Rounds are model turns that had to wait for each other, path is the time along them with the slowest call of each turn; both per ${successWord(comparison)} as well.`;
}

/** Whether any system's records say which turns waited for each other. */
function pathKnown({ rows }: Comparison): boolean {
  return rows.some(({ summary }) => summary.perTask.rounds !== undefined);
}

/** What the share of right answers may be called: agreement with assumed answers is not success. */
export function successWord({ rows }: Comparison): "success" | "agreement" {
  return rightWords(rows.map(({ summary }) => summary.measure?.right).find((right) => right?.assumed)).success;
}

/** How an outcome is called, given how answers are known to be right. */
export function rightWords(right: Measure["right"]) {
  return right?.assumed
    ? ({ success: "agreement", right: "agreeing", wrong: "differing" } as const)
    : ({ success: "success", right: "right", wrong: "wrong" } as const);
}

/** What costs are divided by, in a sentence's end. */
export function perSuccess(comparison: Comparison): string {
  const word = successWord(comparison);
  const many = word === "success" ? "successes" : "agreements";
  return `per ${word}: everything spent, failures included, divided by the ${many}.`;
}

/** How answers are known to be right, and which numbers were measured on replayed tools. */
export function provenanceLines({ rows }: Comparison): string[] {
  const right = rows.map(({ summary }) => summary.measure?.right).find((one) => one !== undefined);
  return [
    ...rows.flatMap(({ system, summary }) => (summary.what ? [`${system}: ${summary.what}.`] : [])),
    ...(right ? [rightnessLine(right)] : []),
    ...rows.flatMap(({ system, summary }) => (summary.replayed ? [replayedLine(system, summary.replayed)] : [])),
  ];
}

/** How many answers are known to be right by what, in a sentence. */
export function rightnessLine(right: NonNullable<Measure["right"]>): string {
  const parts = Object.entries(right).map(([by, number]) =>
    by === "assumed" ? `${number} assumed` : `${number} by ${by}`,
  );
  const warning = right.assumed ? " Agreement with assumed answers is not success." : "";
  return `Right answers: ${parts.join(", ")}.${warning}`;
}

/** That a number was measured on replayed tools, and how many calls the recordings lacked. */
export function replayedLine(system: string, { calls, missing }: NonNullable<Summary["replayed"]>): string {
  return `${system}: measured on replayed tools; of ${calls} calls ${missing} were not recorded.`;
}

/** How reliable the check of a system is, where it has one. */
function checkLine(system: string, check: CheckCalibration | null | undefined): string[] {
  if (!check) return [];
  const area = check.auc === null ? "–" : check.auc.toFixed(3);
  const sure = typeof check.surenessAuc === "number" ? ` (${check.surenessAuc.toFixed(3)} with its probability)` : "";
  return [
    `${system}: its check has area under the curve ${area}${sure}, Brier score ${check.brier.toFixed(3)} (${check.runs} answers).`,
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
