/**
 * Short answers by words: exact match and F1 after the usual normalisation of question answering (lower case, no
 * punctuation, no articles, single spaces), against the best of many golds.
 */
import type { Grade } from "../core/grader.ts";

/** The text as question answering compares it. */
export function normaliseAnswer(text: string): string {
  const words = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\p{P}$+<=>^`|~]/gu, "")
    .replace(/\b(?:a|an|the)\b/g, " ");
  return words.split(/\s+/).filter(Boolean).join(" ");
}

/** Whether two answers are the same after normalisation. An answer of articles and signs alone is compared as it is. */
export function exactMatch(gold: string, answer: string): boolean {
  const wanted = normaliseAnswer(gold);
  // "A" and "!!!" normalise to nothing, and nothing must not equal every other nothing.
  if (wanted === "") return gold.trim().toLowerCase() === answer.trim().toLowerCase();
  return wanted === normaliseAnswer(answer);
}

/** Harmonic mean of how much of the gold was said and how much of what was said is gold, by words. */
export function wordF1(gold: string, answer: string): number {
  const wanted = normaliseAnswer(gold).split(" ").filter(Boolean);
  const said = normaliseAnswer(answer).split(" ").filter(Boolean);
  if (wanted.length === 0 || said.length === 0) return exactMatch(gold, answer) ? 1 : 0;
  const left = new Map<string, number>();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of said) {
    const count = left.get(word) ?? 0;
    if (count > 0) common++;
    left.set(word, count - 1);
  }
  if (common === 0) return 0;
  const precision = common / said.length;
  const recall = common / wanted.length;
  return (2 * precision * recall) / (precision + recall);
}

/** Right when it matches a gold exactly; the score is the best F1. */
export function gradeQa(golds: readonly string[], answer: string | null): Grade {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const matched = golds.find((gold) => exactMatch(gold, answer));
  if (matched !== undefined) return { correct: true, score: 1, reason: `matches "${matched}"` };
  const best = golds
    .map((gold) => ({ gold, f1: wordF1(gold, answer) }))
    .reduce((a, b) => (b.f1 > a.f1 ? b : a), { gold: "", f1: 0 });
  const nearest = best.f1 > 0 ? `nearest is "${best.gold}" with F1 ${best.f1.toFixed(2)}` : "shares no word with any";
  return { correct: false, score: best.f1, reason: `matches none of ${golds.length} golds; ${nearest}` };
}
