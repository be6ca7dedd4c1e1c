/**
 * When what a program printed is what was wanted. `strict`: line by line, only white space at line ends is free.
 * `official` is LiveCodeBench's: both texts and each of their lines stripped; a line that differs may still be equal as
 * a row of decimal numbers. A test may have several right outputs, or allow floats to be off by a little.
 */
import type { CodeTests } from "../../core/task.ts";
import { pythonDecimal, splitWords, strip } from "../python-text.ts";
import type { Scoring } from "../scorers.ts";

/** Whether an output is one of those that are right for a test. */
export function rightOutput(tests: CodeTests, test: number, printed: string, scoring: Scoring): boolean {
  const same = scoring === "official" ? officialSame : sameOutput;
  const wanted = [tests.outputs[test]!, ...(tests.alsoRight?.[test] ?? [])];
  const { tolerance } = tests;
  return wanted.some((text) => same(text, printed) || (tolerance !== undefined && within(text, printed, tolerance)));
}

/** Line by line, letter by letter; only white space at line ends and empty lines at the end are free. */
export function sameOutput(wanted: string, printed: string): boolean {
  const lines = (text: string) =>
    text
      .replace(/\r\n/g, "\n")
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  return lines(wanted) === lines(printed);
}

/** As LiveCodeBench compares: stripped lines, then rows of exact decimals. */
export function officialSame(wanted: string, printed: string): boolean {
  const lines = (text: string) => strip(text).split("\n").map(strip);
  const [expected, said] = [lines(wanted), lines(printed)];
  if (expected.length !== said.length) return false;
  return expected.every((line, i) => {
    if (line === said[i]) return true;
    const [a, b] = [decimals(line), decimals(said[i]!)];
    return a !== undefined && b !== undefined && a.length === b.length && a.every((value, at) => value === b[at]);
  });
}

function decimals(line: string): string[] | undefined {
  const values = splitWords(line).map(pythonDecimal);
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** Word by word; numbers may be off by the larger of the absolute and the relative tolerance. */
function within(wanted: string, printed: string, tolerance: NonNullable<CodeTests["tolerance"]>): boolean {
  const [expected, said] = [splitWords(wanted), splitWords(printed)];
  const { absolute = 0, relative = 0 } = tolerance;
  return (
    expected.length === said.length &&
    expected.every((word, i) => {
      if (word === said[i]) return true;
      const [a, b] = [Number(word), Number(said[i])];
      return Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= Math.max(absolute, relative * Math.abs(a));
    })
  );
}
