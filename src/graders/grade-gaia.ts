/**
 * GAIA's scorer. A gold that Python reads as a number is compared as a number (signs of money, percent and thousands
 * dropped from the answer), a gold with commas or semicolons as a list of such parts in order (punctuation counts there),
 * anything else without white space, case and ASCII punctuation. `strict` differs where the official rule lets something
 * through that was never meant: an unreadable answer counts as infinity there, and two texts of signs alone are equal.
 */
import type { Grade } from "../core/grader.ts";
import { pythonFloat, withoutPunctuation, withoutSpace } from "./python-text.ts";
import type { Scoring } from "./scorers.ts";

/** Whether an answer is right by GAIA's rules. */
export function gradeGaia(golds: readonly string[], answer: string | null, scoring: Scoring = "official"): Grade {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const verdicts = golds.map((gold) => verdict(gold, answer, scoring));
  const right = verdicts.find((one) => one.correct);
  return right ?? verdicts[0] ?? { correct: false, score: 0, reason: "the task has no gold answer" };
}

function verdict(gold: string, answer: string, scoring: Scoring): Grade {
  const wanted = pythonFloat(gold);
  if (wanted !== undefined) {
    const said = readNumber(answer, scoring);
    return grade(said === wanted, `as a number: ${said ?? `"${answer}" is not one`} against ${wanted}`);
  }
  if (!/[,;]/.test(gold)) {
    const [wantedText, saidText] = [plainText(gold), plainText(answer)];
    const empty = scoring === "strict" && wantedText === "" && withoutSpace(gold) !== withoutSpace(answer);
    return grade(wantedText === saidText && !empty, `as text: "${answer}" against "${gold}"`);
  }
  const [parts, said] = [gold.split(/[,;]/), answer.split(/[,;]/)];
  if (parts.length !== said.length) return grade(false, `as a list: ${said.length} items, ${parts.length} wanted`);
  const wrong = parts.findIndex((part, i) => !sameItem(part, said[i]!, scoring));
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

function sameItem(gold: string, answer: string, scoring: Scoring): boolean {
  const wanted = pythonFloat(gold);
  if (wanted !== undefined) return readNumber(answer, scoring) === wanted;
  return withoutSpace(gold).toLowerCase() === withoutSpace(answer).toLowerCase();
}

/** An answer read as a number, without money, percent and thousands signs; officially what can't be read is infinite. */
function readNumber(text: string, scoring: Scoring): number | undefined {
  return pythonFloat(text.replace(/[$%,]/g, "")) ?? (scoring === "official" ? Infinity : undefined);
}

function plainText(text: string): string {
  return withoutPunctuation(withoutSpace(text).toLowerCase());
}
