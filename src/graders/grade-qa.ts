/**
 * Short answers by words, as SQuAD scores them and the papers on multi-hop questions after it: lower case, no ASCII
 * punctuation, no articles, single blanks; exact match and F1 against the best of many golds. `strict` differs in one
 * thing: an answer of which nothing is left ("The", "!!!") does not equal every other such answer.
 *
 * A model may be told to separate several answers with `|`. The reference implementation of the paper evaluates the first
 * of them and, in training, wants every one of them to be a gold.
 */
import type { Grade } from "../core/grader.ts";
import { signsAsBlanks, splitWords, withoutArticles, withoutPunctuation } from "./python-text.ts";
import type { Scoring } from "./scorers.ts";

/** Of an answer with several parts: its first part counts, every part must be right, or it is one text. */
export const answerParts = ["first", "every", "whole"] as const;
export type AnswerParts = (typeof answerParts)[number];

export interface QaOptions {
  scoring?: Scoring;
  /** How `a | b` is read; default `first`. A gold that itself holds the sign is one text. @internal */
  parts?: AnswerParts;
  /** F1 as HotpotQA and 2WikiMultiHopQA have it: yes and no are all or nothing. */
  yesNo?: boolean;
  /** Words are parted by signs, as TriviaQA has it: "J.R." is two words, not "jr". */
  signsPart?: boolean;
}

/** The text as question answering compares it. */
export function normaliseAnswer(text: string, signsPart = false): string {
  const plain = text.toLowerCase();
  return splitWords(withoutArticles(signsPart ? signsAsBlanks(plain) : withoutPunctuation(plain))).join(" ");
}

/** Whether two answers are the same after normalisation. */
export function exactMatch(
  gold: string,
  answer: string,
  options: Pick<QaOptions, "scoring" | "signsPart"> = {},
): boolean {
  const { scoring, signsPart } = options;
  const wanted = normaliseAnswer(gold, signsPart);
  if (wanted === "" && scoring === "strict") return gold.trim().toLowerCase() === answer.trim().toLowerCase();
  return wanted === normaliseAnswer(answer, signsPart);
}

/** Harmonic mean of how much of the gold was said and how much of what was said is gold, by words. */
export function wordF1(gold: string, answer: string, options: Pick<QaOptions, "yesNo" | "signsPart"> = {}): number {
  const [wantedText = "", saidText = ""] = [gold, answer].map((text) => normaliseAnswer(text, options.signsPart));
  const closed = (text: string) => text === "yes" || text === "no" || text === "noanswer";
  if (options.yesNo && wantedText !== saidText && (closed(wantedText) || closed(saidText))) return 0;
  const [wanted, said] = [splitWords(wantedText), splitWords(saidText)];
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
export function gradeQa(golds: readonly string[], answer: string | null, options: QaOptions = {}): Grade {
  if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer" };
  const { parts = "first" } = options;
  const severalGolds = golds.some((gold) => gold.includes("|"));
  const pieces = parts === "whole" || severalGolds || !answer.includes("|") ? [answer] : answer.split("|");
  const counted = parts === "every" ? pieces : pieces.slice(0, 1);
  const matches = counted.map((piece) => golds.find((gold) => exactMatch(gold, piece, options)));
  if (matches.every((gold) => gold !== undefined)) {
    const which =
      pieces.length === 1 ? "" : parts === "every" ? `, each of ${pieces.length} parts` : ", the first part";
    return { correct: true, score: 1, reason: `matches "${matches[0]}"${which}` };
  }
  const said = counted[matches.indexOf(undefined)]!;
  const best = golds
    .map((gold) => ({ gold, f1: wordF1(gold, said, options) }))
    .reduce((a, b) => (b.f1 > a.f1 ? b : a), { gold: "", f1: 0 });
  const nearest = best.f1 > 0 ? `nearest is "${best.gold}" with F1 ${best.f1.toFixed(2)}` : "shares no word with any";
  return { correct: false, score: best.f1, reason: `matches none of ${golds.length} golds; ${nearest}` };
}
