/** The last value in a worked solution, however it is written. */
import { looksLikeFormula } from "./formula-text.ts";
import { formulas, joinedSpans, type Span } from "./text-spans.ts";

/** The last value of a text: a formula, bare LaTeX, a point or a number, whichever ends last. */
export function lastValue(text: string): { text: string; by: "formula" | "number" } | undefined {
  // Without a closing remark in brackets: `13 stickers (not counting the 4 lost ones)`.
  const prose = text.replace(/\s\((?:[^()$]*[A-Za-z]{3,}[^()$]*(?:\(\d+\))?)\)[\s.]*$/, "");
  const spans = formulas(prose);
  const formula = spans.at(-1);
  const outside = blankOut(prose, spans);
  const bare = bareFormula(outside);
  const number = lastNumber(outside);
  const end = Math.max(formula?.end ?? -1, bare?.end ?? -1, number?.end ?? -1);
  if (end < 0) return undefined;
  if (formula?.end === end) return { text: joinedSpans(spans, prose)!, by: "formula" };
  if (bare?.end === end) return { text: bare.inner, by: "formula" };
  return /\s/.test(prose) ? { text: number!.inner, by: "number" } : undefined;
}

/** The text with its formulas replaced by spaces, so that places stay as they are. */
function blankOut(text: string, spans: Span[]): string {
  let result = "";
  let at = 0;
  for (const span of spans) {
    result += text.slice(at, span.start) + " ".repeat(span.end - span.start);
    at = span.end;
  }
  // An inline formula ends on its line: the text of one that does not is neither formula nor prose.
  return (result + text.slice(at)).replace(/(?<!\\)\$\n[^$\n]*\n?\$|\\\([^()\n]*\n[^()]*?\\\)/g, (broken) =>
    " ".repeat(broken.length),
  );
}

const formulaSign = /\\[a-zA-Z]|\^|√|π/;
const formulaWord = /^(?:[^A-Za-z]|\\(?:[a-zA-Z]+|.)|\{[^{}]*\}|(?<![A-Za-z])[A-Za-z](?![A-Za-z]))+$/;

/** The last run of words that are LaTeX or signs; at least one of them is LaTeX: `hence c = \sqrt{13}.` */
function bareFormula(text: string): Span | undefined {
  const words = wordsOf(text);
  let last = words.length - 1;
  while (last >= 0 && !(formulaSign.test(words[last]!.inner) && isFormulaWord(words[last]!.inner))) last--;
  if (last < 0) return undefined;
  let end = last;
  while (end + 1 < words.length && continues(words[end]!.inner) && isFormulaWord(words[end + 1]!.inner)) end++;
  let start = last;
  while (start > 0 && isFormulaWord(words[start - 1]!.inner) && !/[.,;:]$/.test(words[start - 1]!.inner)) start--;
  const inner = text
    .slice(words[start]!.start, words[end]!.end)
    .replace(/^[Aa]\s+/, "")
    .replace(/[\s.,;:*]+$/, "");
  const value = inner.slice(inner.lastIndexOf("=") + 1).trim();
  const empty = value.replace(/\\(?:text|mbox)\s*\{[^{}]*\}/g, "").trim() === "";
  return looksLikeFormula(value) && !empty
    ? { start: words[start]!.start, end: words[end]!.end, inner: value }
    : undefined;
}

const isFormulaWord = (word: string) =>
  formulaWord.test(word.replace(/\\(?:begin|end|text|mathrm|mbox)\s*\{[^{}]*\}/g, " "));

/** A word after which a formula can't end, or after which more of it may come. */
const continues = (word: string) => !/[.,;:]$/.test(word);

/** Words, where blanks inside braces and environments do not separate. */
function wordsOf(text: string): Span[] {
  const words: Span[] = [];
  let depth = 0;
  let start = -1;
  for (const match of text.matchAll(/\\(?:begin|end)(?![a-zA-Z])|\\.|[{}]|\s|[^\\{}\s]+/gs)) {
    const token = match[0];
    if (token === "{" || token === "\\begin") depth++;
    else if (token === "}" || token === "\\end") depth = Math.max(0, depth - 1);
    if (/^\s$/.test(token) && (depth === 0 || token === "\n")) {
      if (start >= 0) words.push({ start, end: match.index, inner: text.slice(start, match.index) });
      start = -1;
      if (token === "\n" && depth > 20) depth = 0;
    } else if (start < 0) start = match.index;
  }
  if (start >= 0) words.push({ start, end: text.length, inner: text.slice(start) });
  return words;
}

const plainNumber = String.raw`[-+−]?\s?(?:\\?[$]|\p{Sc})?(?:\d{1,3}(?:[ ,]\d{3})+(?!\d)|\d+,\d+(?![\d,])|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s*\/\s*\d+(?:\.\d+)?)?(?:\s?(?:\\?%|percent|pct))?`;
const numberPattern = new RegExp(
  [
    String.raw`[([]\s?${plainNumber}(?:,\s?${plainNumber})+\s?[)\]]`,
    String.raw`(?<![\w.])[-+−]?\s?\d*\s?(?:√\s?\(?\d+\)?|π)(?:\s*\/\s*\d+)?`,
    String.raw`(?<![\w.:])\d{1,2}:\d{2}(?![\d:])(?:\s?[ap]\.?m\b\.?)?`,
    String.raw`(?<![\w.])\d+:\d+(?::\d+)*(?![\d:])`,
    String.raw`(?<![\w.])${plainNumber}`,
    String.raw`(?<![\w.])[-+−]?\.\d+`,
  ].join("|"),
  "gu",
);

/** The last number of a prose text: points, times, ratios, fractions, decimals, thousands, percent, money. */
function lastNumber(text: string): Span | undefined {
  const found = [...text.matchAll(numberPattern)].filter(
    ({ index }) =>
      !/\b(?:step|case|part|equation|eq\.|figure|problem|question|theorem|lemma|line|method)s?\s\(?$/i.test(
        text.slice(Math.max(0, index - 12), index),
      ),
  );
  const last = found.at(-1) ?? [...text.matchAll(numberPattern)].at(-1);
  return last && { start: last.index, end: last.index + last[0].length, inner: last[0].trim() };
}
