/** The math grader: finds the answer in what was written, parses both and compares them as mathematics. */
import type { Grade } from "../../core/grader.ts";
import { sameMath } from "./compare-math.ts";
import { squeeze } from "./equal-expressions.ts";
import { openCalculator } from "./expression.ts";
import { looksLikeFormula, withoutUnit } from "./formula-text.ts";
import { lastValue } from "./last-value.ts";
import { parseMath } from "./parse-math.ts";
import { finalAnswer, statedAnswer } from "./stated-answer.ts";
import { boxes, enumerated, joinedSpans } from "./text-spans.ts";

/** Longer answers are compared as text alone: no answer to a question of mathematics is this long. */
const longestAnswer = 3000;

/** Whether an answer equals one of the golds as mathematics. Golds and answer may be LaTeX, plain text or prose. */
export async function gradeMath(golds: readonly string[], answer: string | null): Promise<Grade> {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const found = extractAnswer(answer);
  const calculator = await openCalculator();
  const values = readings(found).flatMap(
    (text) => (text.length <= longestAnswer && readable(() => [parseMath(text)])) || [],
  );
  for (const gold of golds) {
    const wanted = extractAnswer(gold);
    const sameTime = compareTimes(wanted.text, found.text);
    if (sameTime === false) continue;
    if (sameTime) return { correct: true, score: 1, reason: `${quote(found.text)} is the time ${quote(wanted.text)}` };
    if (sameVerdict(wanted.text, answer))
      return { correct: true, score: 1, reason: `begins with ${quote(wanted.text)}` };
    const golden = readings(wanted).map(parseMath);
    const same = golden.some((expected) =>
      values.some((value) => readable(() => sameMath(calculator, expected, value))),
    );
    const written = [plainText(found.text), plainText(answer)];
    if (same || plainText(wanted.text) === written[0] || written.includes(plainText(gold))) {
      return { correct: true, score: 1, reason: `${quote(found.text)} equals ${quote(wanted.text)}` };
    }
  }
  const expected = golds.map((gold) => quote(extractAnswer(gold).text)).join(" or ");
  return { correct: false, score: 0, reason: `${quote(found.text)} (${found.by}) differs from ${expected}` };
}

/**
 * `\sqrt3 \approx 1.73` states one value twice, exactly and rounded; `\textbf{(B)} 24` too, as a choice and as its
 * value; `12,5` may be two numbers or one with a decimal comma. Either may be what was asked for.
 */
function readings({ text, by }: Extracted): string[] {
  if (
    by !== "boxed" &&
    by !== "formula" &&
    /^\s*[-+−]?\p{Sc}?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+|\d{1,3}(?:\.\d{3})+,\d+)\s*$/u.test(text)
  )
    return [text, text.replace(/\./g, "").replace(",", ".")];
  const choice = /^\s*\\(?:text|textbf|mathrm|mathbf)\s*\{\s*\(?([A-H])\)?[.:)]?\s*\}\s*(?:\\\s)?\s*([^\s].*)$/s.exec(
    text,
  );
  const lettered = choice ?? /^\s*\(?([A-H])(?:\)[.:]?|[.:])\s+(\S.*)$/s.exec(text);
  if (lettered && /[\d\\]/.test(lettered[2]!)) return [lettered[1]!, lettered[2]!];
  const sides = text.split(/\\(?:approx|simeq|thickapprox)(?![a-zA-Z])|≈/).filter((side) => side.trim() !== "");
  return sides.length === 0 ? [text] : sides;
}

/** `Yes, because 5 > 3` for a gold that is yes, no, true or false and nothing else. */
function sameVerdict(gold: string, answer: string): boolean {
  const word = /^\W*(?:text\{)?(yes|no|true|false)\W*$/i.exec(gold)?.[1]?.toLowerCase();
  return word !== undefined && /^\W*(yes|no|true|false)(?=\W*$|[,.;:!—])/i.exec(answer)?.[1]?.toLowerCase() === word;
}

/** Whether two times of day are the same; undefined where the gold may as well be a ratio, or is not a time. */
function compareTimes(gold: string, answer: string): boolean | undefined {
  const [wanted, said] = [timeOf(gold), timeOf(answer)];
  if (!wanted) return undefined;
  const certain = wanted.minute.startsWith("0") || wanted.half !== undefined;
  if (!said) return certain && /^[\d\s:]+$/.test(answer) ? false : undefined;
  const same = Number(wanted.hour) === Number(said.hour) && wanted.minute === said.minute;
  const halves = wanted.half === undefined || said.half === undefined || wanted.half === said.half;
  return same && halves ? true : certain || said.half !== undefined ? false : undefined;
}

/** `12:00`, `3:45 p.m.`, `6 PM`, `\text{12:00 noon}`. */
function timeOf(text: string): { hour: string; minute: string; half?: string } | undefined {
  const plain = text.replace(/\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}/g, "$1").replace(/\{:\}/g, ":");
  const match =
    /^[\s$]*(\d{1,2})(?::([0-5]\d)|(?=\s*[ap]\.?\s*m|\s*o'clock))\s*(?:([ap])\.?\s*m\.?|noon|midnight|o'clock|hours?)?[\s$.]*$/i.exec(
      plain.replace(/\\[,;: ]|~/g, " "),
    );
  if (!match || Number(match[1]) > 24) return undefined;
  return { hour: match[1]!, minute: match[2] ?? "00", half: match[3]?.toLowerCase() };
}

/** Formula or prose without commands that only set type, for answers that are simply written the same. */
function plainText(text: string): string {
  return squeeze(text.replace(/\\(?:text|mbox|mathrm|textbf)\s*\{([^{}]*)\}|\$|\\[,;! ]/g, "$1"));
}

/** An answer nested deeper than the stack is not an answer; anything else that goes wrong is a bug and is thrown. */
function readable<T>(work: () => T): T | false {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function quote(text: string): string {
  return text.length > 120 ? `"${text.slice(0, 100)}…" (${text.length} characters)` : `"${text}"`;
}

/** What was found, and by which rule. */
export interface Extracted {
  text: string;
  by: "boxed" | "phrase" | "formula" | "number" | "whole";
}

const longestText = 20_000;

/**
 * Finds the answer inside what a model wrote. Priority: "final answer is …" behind every box, the last `\boxed{…}`
 * (several boxes in one enumeration count as one answer), what follows "answer is" or "therefore … is", the text itself
 * where it is one formula, then the last value: a formula between dollar signs, bare LaTeX, a point or a number. One
 * reading only: a grader that tries many candidates rewards listing guesses.
 */
export function extractAnswer(text: string): Extracted {
  // The answer is at the end; searching the whole text would take time that grows with the square of its length.
  const trimmed = text
    .trim()
    .slice(-longestText)
    .replace(/\s{2,}/g, (space) => (space.includes("\n") ? "\n" : " "))
    .replace(/^\*\*([^*]+)\*\*$/, "$1")
    // A sign in words, where nothing comes before it that it could be subtracted from.
    .replace(/\bnegative\s+(?=[$\\]?\d)|(?<![\d)}\]]\s?|(?<![a-zA-Z])[a-zA-Z]\s)\bminus\s+(?=[$\\]?\d)/gi, "-");
  const inBoxes = boxes(trimmed);
  const final = finalAnswer(trimmed, inBoxes.at(-1)?.end ?? 0);
  if (final !== undefined) return { text: final, by: "phrase" };
  const boxed = joinedSpans(inBoxes, trimmed, "last", enumerated);
  if (boxed !== undefined) return { text: withoutUnit(boxed), by: "boxed" };
  const phrase = statedAnswer(trimmed);
  if (phrase !== undefined) return { text: phrase, by: "phrase" };
  const measured = withoutUnit(trimmed);
  if (measured !== "" && looksLikeFormula(measured)) return { text: measured, by: "whole" };
  const last = lastValue(trimmed);
  if (last !== undefined) return last;
  const stated = /\s(?:is|are|equals)\s+([^.\s][^.]{0,40})\.?$/.exec(trimmed)?.[1];
  if (stated !== undefined && !/[a-z]{3}/i.test(stated)) return { text: stated, by: "phrase" };
  return { text: trimmed, by: "whole" };
}
