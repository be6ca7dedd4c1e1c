/** A comparison as one table of text, for the terminal. */
import type { Comparison, ComparisonRow, Measure, Summary } from "./figures.ts";
import { count, duration, moneySpent, percent, pValue, signed } from "./format-figures.ts";
import { resultSentence, successText } from "./result-sentence.ts";

/** The rows of the table, headings first. */
export function comparisonCells(comparison: Comparison): string[][] {
  const head = [
    "system",
    successWord(comparison),
    "tokens",
    "computed",
    "tools",
    ...(formKnown(comparison) ? ["format errors"] : []),
    ...(pathKnown(comparison) ? ["rounds", "path"] : []),
    "time",
    "money",
    savesHead(comparison),
    "difference",
  ];
  const rows = comparison.rows.map((row) => {
    const { system, summary, paired } = row;
    const costs = summary.perSuccess;
    const time = (ms: number | undefined) => (summary.scripted ? "scripted" : duration(ms));
    const difference = paired ? `${signed(100 * paired.difference.value, 1)} points, ${pValue(paired.pValue)}` : "–";
    return [
      system,
      successText(summary),
      count(costs?.billedTokens),
      count(costs?.computedTokens),
      count(costs?.toolCalls),
      ...(formKnown(comparison) ? [summary.perTask.formatErrors?.toFixed(2) ?? "–"] : []),
      ...(pathKnown(comparison) ? [count(costs?.rounds), time(costs?.pathMs)] : []),
      time(costs?.wallMs),
      moneySpent(costs?.costUsd),
      savedText(row, comparison),
      difference,
    ];
  });
  return [head, ...rows];
}

/** Tokens and savings by a neutral tokenizer, headings first; empty where none was asked for. */
export function recountedCells(comparison: Comparison): string[][] {
  const { recounted: other } = comparison;
  if (!other) return [];
  const head = [`counted by ${other.name}`, "tokens", "computed", savesHead(comparison)];
  const rows = other.rows.map((row) => [
    row.system,
    count(row.summary.perSuccess?.billedTokens),
    count(row.summary.perSuccess?.computedTokens),
    savedText(row, comparison),
  ]);
  return [head, ...rows];
}

/** Whether every system is measured against the same one. */
function oneBaseline({ rows, baseline }: Comparison): boolean {
  return rows.every(({ against = baseline.system, system }) => against === baseline.system || against === system);
}

function savesHead(comparison: Comparison): string {
  const { system, topology } = comparison.baseline;
  return oneBaseline(comparison) ? `saves vs ${system} (${topology})` : "saves under the same conditions";
}

function savedText({ saving, against }: Pick<ComparisonRow, "saving" | "against">, comparison: Comparison): string {
  if (!saving) return "–";
  const versus = oneBaseline(comparison) ? "" : ` vs ${against}`;
  return `${part(saving.billedTokens)} billed, ${part(saving.computedTokens)} computed${versus}`;
}

/** What the last stage of training changed, one line for each model and condition. */
export function trainingLines({ rows }: Comparison): string[] {
  return rows.flatMap(({ system, summary, since }) => {
    if (!since) return [];
    const { difference, pValue: p, firstBetter, secondBetter } = since.paired;
    const [low, high] = [difference.low, difference.high].map((bound) => signed(100 * bound, 1));
    const where = summary.condition === undefined ? "" : ` where ${summary.condition}`;
    return [
      `${system} against ${since.system}${where}: ${signed(100 * difference.value, 1)} points [${low}, ${high}] (${secondBetter} tasks gained, ${firstBetter} lost, ${pValue(p)})`,
    ];
  });
}

/** The table as text, with what its columns mean. */
export function comparisonTable(comparison: Comparison): string {
  const cells = comparisonCells(comparison);
  const notes = comparison.rows
    .map(({ system, summary }) => ({ ...summary, system }))
    .filter(({ crashed, undecided, missing }) => crashed + undecided + missing > 0);
  return [
    resultSentence(comparison),
    "",
    textTable(cells),
    "",
    ...trainingLines(comparison),
    ...(comparison.recounted ? [textTable(recountedCells(comparison)), ""] : []),
    `${comparison.tasks} tasks in common. Tokens, computed tokens, tool calls, time and money are ${perSuccess(comparison)}`,
    ...(formKnown(comparison) ? ["Format errors are per run: calls that can't be read, tags out of order."] : []),
    ...(pathKnown(comparison) ? [pathLine(comparison)] : []),
    ...(comparison.rows.some(({ summary }) => summary.perTask.costUsd === 0) ? [noPriceLine] : []),
    ...provenanceLines(comparison),
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

/** Whether any system writes in a form that can be broken. */
function formKnown({ rows }: Comparison): boolean {
  return rows.some(({ summary }) => summary.perTask.formatErrors !== undefined);
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
