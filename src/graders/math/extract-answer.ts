/**
 * Finds the answer inside what a model wrote. Priority: "final answer is …" behind every box, the last `\boxed{…}`
 * (several boxes in one enumeration count as one answer), what follows "answer is" or "therefore … is", the text itself
 * where it is one formula, then the last value: a formula between dollar signs, bare LaTeX, a point or a number. One
 * reading only: a grader that tries many candidates rewards listing guesses.
 */
import { looksLikeFormula, withoutUnit } from "./formula-text.ts";
import { lastValue } from "./last-value.ts";
import { finalAnswer, statedAnswer } from "./stated-answer.ts";
import { boxes, enumerated, joinedSpans } from "./text-spans.ts";

/** What was found, and by which rule. */
export interface Extracted {
  text: string;
  by: "boxed" | "phrase" | "formula" | "number" | "whole";
}

const longestText = 20_000;

/** The one answer that a text states. */
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
