/**
 * GAIA's scoring: a gold that is a number is compared as a number (signs of money, percent and thousands dropped), a
 * gold with commas or semicolons as a list of such parts in order, anything else as letters and digits alone.
 */
import type { Grade } from "../core/grader.ts";

/** Whether an answer is right by GAIA's rules. */
export function gradeGaia(golds: readonly string[], answer: string | null): Grade {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const verdicts = golds.map((gold) => verdict(gold.trim(), answer.trim()));
  const right = verdicts.find((one) => one.correct);
  return right ?? verdicts[0] ?? { correct: false, score: 0, reason: "the task has no gold answer" };
}

function verdict(gold: string, answer: string): Grade {
  const wanted = plainNumber(gold);
  if (wanted !== undefined) {
    const said = readNumber(answer);
    const correct = said === wanted;
    return grade(correct, `as a number: ${said ?? `"${answer}" is none`} against ${wanted}`);
  }
  if (!/[,;]/.test(gold)) return grade(letters(gold) === letters(answer), `as text: "${answer}" against "${gold}"`);
  const [parts, said] = [gold.split(/[,;]/), answer.split(/[,;]/)];
  if (parts.length !== said.length) return grade(false, `as a list: ${said.length} items, ${parts.length} wanted`);
  const wrong = parts.findIndex((part, i) => !sameItem(part.trim(), said[i]!.trim()));
  return grade(
    wrong < 0,
    wrong < 0
      ? `as a list: ${parts.length} items agree`
      : `as a list: item ${wrong + 1} is "${said[wrong]!.trim()}", "${parts[wrong]!.trim()}" wanted`,
  );
}

function grade(correct: boolean, reason: string): Grade {
  return { correct, score: correct ? 1 : 0, reason };
}

function sameItem(gold: string, answer: string): boolean {
  const wanted = plainNumber(gold);
  if (wanted !== undefined) return readNumber(answer) === wanted;
  const tidy = (text: string) => text.toLowerCase().replace(/\s+/g, "");
  return tidy(gold) === tidy(answer);
}

/** A gold that is nothing but a number. */
function plainNumber(text: string): number | undefined {
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

/** An answer read as a number, without money, percent and thousands signs. */
function readNumber(text: string): number | undefined {
  return plainNumber(text.replace(/[$%,]/g, "").trim());
}

/** Letters and digits alone, in lower case. A text of signs alone is kept, so that "+" does not equal "-". */
function letters(text: string): string {
  const kept = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}]/gu, "");
  return kept === "" ? text.replace(/\s+/g, "") : kept;
}
