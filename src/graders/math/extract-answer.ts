/**
 * Finds the answer inside what a model wrote. Priority: the last `\boxed{…}` (several boxes in one enumeration count as
 * one answer), then what follows "answer is", then the last formula between dollar signs, then the last value that an
 * equation in plain text ends with, then the last number.
 * One reading only: a grader that tries many candidates rewards listing guesses.
 */

/** What was found, and by which rule. */
export interface Extracted {
  text: string;
  by: "boxed" | "phrase" | "formula" | "number" | "whole";
}

const longestText = 20_000;

/** The one answer that a text states. */
export function extractAnswer(text: string): Extracted {
  // The answer stands at the end; looking further back would only cost time that grows with the square.
  const trimmed = text
    .trim()
    .slice(-longestText)
    .replace(/\s{2,}/g, (space) => (space.includes("\n") ? "\n" : " "))
    .replace(/^\*\*([^*]+)\*\*$/, "$1");
  const boxed = lastJoined(boxes(trimmed), trimmed, "last", enumerated);
  if (boxed !== undefined) return { text: withoutUnit(boxed), by: "boxed" };
  const phrase = afterPhrase(trimmed);
  if (phrase !== undefined) {
    const inner = lastJoined(formulas(phrase), phrase, "first");
    const leading = looksLikeFormula(phrase) ? undefined : leadingNumber.exec(phrase)?.[1];
    return { text: withoutUnit(inner ?? leading ?? phrase), by: "phrase" };
  }
  const measured = withoutUnit(trimmed);
  if (measured !== "" && looksLikeFormula(measured)) return { text: measured, by: "whole" };
  const formula = lastJoined(formulas(trimmed), trimmed);
  if (formula !== undefined) return { text: formula, by: "formula" };
  const value = lastSide(trimmed);
  if (value !== undefined) return { text: value, by: "formula" };
  const number = lastNumber(trimmed);
  if (number !== undefined && /\s/.test(trimmed)) return { text: number, by: "number" };
  const stated = /\s(?:is|are|equals)\s+([^.\s][^.]{0,40})\.?$/.exec(trimmed)?.[1];
  if (stated !== undefined && !/[a-z]{3}/i.test(stated)) return { text: stated, by: "phrase" };
  return { text: trimmed, by: "whole" };
}

/** A stretch of the text: where it stands with its delimiters, and what is inside them. */
interface Span {
  start: number;
  end: number;
  inner: string;
}

/** All `\boxed{…}` and `\fbox{…}`, with nested braces. */
function boxes(text: string): Span[] {
  const spans: Span[] = [];
  for (const match of [...text.matchAll(/\\f?boxed?\s*/g)].slice(-40)) {
    const open = match.index + match[0].length;
    if (text[open] !== "{") {
      const bare = /^[^\s$]+/.exec(text.slice(open));
      if (bare) spans.push({ start: match.index, end: open + bare[0].length, inner: bare[0] });
      continue;
    }
    const end = closingBrace(text, open);
    if (end > 0) spans.push({ start: match.index, end: end + 1, inner: text.slice(open + 1, end) });
    else if (!text.slice(open).includes("\\boxed"))
      spans.push({ start: match.index, end: text.length, inner: unclosed(text.slice(open + 1)) });
  }
  return spans;
}

/** The rest of a text that was cut off inside a box: its first line, with the braces that it still owes. */
function unclosed(rest: string): string {
  const line = rest.split("\n")[0]!.replace(/[\s$.]+$/, "");
  const owed = line.replace(/\\[{}]/g, "").replace(/[^{}]/g, "");
  const missing = owed.split("{").length - owed.split("}").length;
  return line + "}".repeat(Math.max(0, missing));
}

/** Index of the brace that closes the one at `open`, or -1. */
export function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "{") depth++;
    else if (text[i] === "}" && --depth === 0) return i;
  }
  return -1;
}

const formulaStart = /\$\$|\\\[|\\\(|(?<!\\)\$|\\begin\{(align|equation|gather)\*?\}/g;

/** Formulas between `$$`, `\[ \]`, `\( \)` and `$`, in order. Escaped dollars are money, not delimiters. */
export function formulas(text: string): Span[] {
  const spans: Span[] = [];
  const absent = new Set<string>(); // ends that do not come any more: a search for one would reach to the end each time
  formulaStart.lastIndex = 0;
  for (let match = formulaStart.exec(text); match; match = formulaStart.exec(text)) {
    const [open, environment] = match;
    const inside = match.index + open.length;
    const end = environment ? new RegExp(`\\\\end\\{${environment}\\*?\\}`, "g") : formulaEnds[open]!;
    // A single dollar closes after text without one; the others close at the next of theirs.
    end.lastIndex = open === "$" ? inside : inside + 1;
    const key = environment ?? open;
    const close = absent.has(key) ? null : end.exec(text);
    if (!close) {
      absent.add(key);
      formulaStart.lastIndex = match.index + 1;
      continue;
    }
    const stop = close.index + close[0].length;
    const inner = environment
      ? text.slice(match.index, stop)
      : text.slice(inside, open === "$" ? stop - 1 : close.index);
    spans.push({ start: match.index, end: stop, inner });
    formulaStart.lastIndex = stop;
  }
  return spans;
}

const formulaEnds: Record<string, RegExp> = {
  $$: /\$\$/g,
  "\\[": /\\\]/g,
  "\\(": /\\\)/g,
  $: /(?:\\.|[^$\\])+\$/y,
};

const joined = (between: string) => /^[\s$]*(?:,|;|and|or|,\s*and|,\s*or)?[\s$]*$/i.test(between);

const listing =
  /^(?:and|or|the|a|first|second|third|fourth|other|one|another|solution|root|value|case|part|answer|is|are|also|then)s?$/i;

/** What stands between two boxes of one enumeration: separators, names of what is counted, numbers of parts; no new sentence. */
function enumerated(between: string): boolean {
  if (joined(between)) return true;
  if (between.length > 60 || !/[,;\n]|\b(?:and|or)\b/i.test(between) || /[.!?]\s+[A-Z]/.test(between)) return false;
  const rest = between.replace(/\\(?:text|quad|qquad|left|right|[,;! ])|[$(){}[\]:=,;.\s*\-\d_]/g, " ");
  return rest
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => word.length === 1 || listing.test(word));
}

/** The last span (or first), together with its neighbours where what stands between them only joins. */
function lastJoined(
  spans: Span[],
  text: string,
  end: "first" | "last" = "last",
  between: (text: string) => boolean = joined,
): string | undefined {
  if (spans.length === 0) return undefined;
  const joins = (a: Span, b: Span) => between(text.slice(a.end, b.start));
  let first = end === "last" ? spans.length - 1 : 0;
  let last = first;
  while (end === "last" && first > 0 && joins(spans[first - 1]!, spans[first]!)) first--;
  while (end === "first" && last + 1 < spans.length && joins(spans[last]!, spans[last + 1]!)) last++;
  return spans
    .slice(first, last + 1)
    .map((span) => span.inner.trim())
    .join(" , ");
}

const phrases =
  /(?:(?:answer|(?:correct|right|best)\s+(?:option|choice))(?:\s+is|\s+are|\s*:)|答案(?:是|为|:|：)|(?:therefore|thus|hence|so)[^.\n]{0,40}?\s(?:is|are|equals)(?=\s*[-+$\\\d(]))\s*:?\s*(?:\*\*)?/gi;

/** What follows the last "the answer is", up to the end of its sentence. */
function afterPhrase(text: string): string | undefined {
  const last = [...text.matchAll(phrases)].at(-1);
  if (!last) return undefined;
  let rest = text.slice(last.index + last[0].length).replace(/\.?\s*I hope it is correct\.?\s*$/i, "");
  const first = formulas(rest)[0];
  // A formula right after the phrase is the answer even where its sentence goes on over lines.
  if (first && /^[\s*]*$/.test(rest.slice(0, first.start))) return rest;
  rest = rest.split(/\n|(?<=[^\d\s.])\.(?:\s|$)|(?<=\d)\.(?:\s|$)/)[0]!;
  rest = rest.replace(/\*\*/g, "").trim();
  return rest === "" ? undefined : rest;
}

/** Whether a text is one formula or a short value, rather than prose around one. */
function looksLikeFormula(text: string): boolean {
  if (/(?<!\\)\$|\\\[|\\\(/.test(text)) return wholeFormula(text);
  if (/\n/.test(text) && !/\\begin/.test(text)) return false;
  const prose = text
    .replace(/\\(?:text|mbox|mathrm|operatorname|textbf|begin|end)\s*\{[^}]*\}/g, "")
    .replace(/\\[a-zA-Z]+/g, "");
  const words = prose.match(/[A-Za-z]{3,}/g) ?? [];
  if (words.length === 0) return true;
  if (/[=^_\\]/.test(text) && words.every((word) => plainWords.has(word.toLowerCase()))) return true;
  return words.every((word) => plainWords.has(word.toLowerCase()));
}

/** Units written as words after a formula. */
const unitWords =
  /\s+(?:(?:square|sq\.?|cubic)\s+)?(?:rad(?:ians?)?|degrees?|units?|meters?|metres?|centimeters?|kilometers?|inch(?:es)?|feet|foot|miles?|yards?|dollars?|cents?|hours?|minutes?|seconds?|years?|days?|weeks?|months?|grams?|kilograms?|pounds?|liters?|litres?)\.?$/i;

function withoutUnit(text: string): string {
  return text.replace(unitWords, "");
}

/** Words that occur inside plain-text formulas, so they are not prose. */
const plainWords = new Set(
  "percent sqrt cbrt sin cos tan cot sec csc log exp abs arcsin arccos arctan asin acos atan sinh cosh tanh infinity inf and max min gcd lcm mod".split(
    " ",
  ),
);

/** Whether the whole text is exactly one or more formulas, nothing but punctuation and units around them. */
function wholeFormula(text: string): boolean {
  return formulas(text).length === 1 && /^\s*(\$\$?|\\\[|\\\()/.test(text) && /(\$\$?|\\\]|\\\))\s*\.?\s*$/.test(text)
    ? true
    : /^\\?\$\s*-?[\d.,\s]+$/.test(text);
}

/** A number with words after it: `8 fruits`. */
const leadingNumber = /^([-+−]?\s?\\?\$?\d[\d,]*(?:\.\d+)?(?:\s*\/\s*\d+)?)\s+[A-Za-z][A-Za-z\s]*\.?$/;

/**
 * The last side of the last equation that is written in LaTeX without delimiters: `hence c = \sqrt{13}.` What follows it
 * must be the end of the text or of its sentence, otherwise a later number may be the answer.
 */
function lastSide(text: string): string | undefined {
  const at = text.lastIndexOf("=");
  if (at < 0) return undefined;
  const rest = text.slice(at + 1);
  let depth = 0;
  let end = rest.length;
  for (let i = 0; i < rest.length && end === rest.length; i++) {
    const [token] = /^\\(?:begin|end|[a-zA-Z]+|.)|^[\s\S]/.exec(rest.slice(i))!;
    if (/^(?:[([{]|\\begin)$/.test(token)) depth++;
    else if (/^(?:[)\]}]|\\end)$/.test(token)) depth--;
    else if (depth === 0 && (/^[.,;](?:\s|$)/.test(rest.slice(i)) || token === "\n")) end = i;
    i += token.length - 1;
  }
  const value = rest.slice(0, end).trim();
  const after = rest.slice(end);
  if (value === "" || !/\\[a-zA-Z]|\^|√|π/.test(value) || /\d/.test(after) || !looksLikeFormula(value))
    return undefined;
  return value;
}

/** The last number of a prose text: times, fractions, decimals, thousands, percent, money. */
function lastNumber(text: string): string | undefined {
  const pattern =
    /(?<![\w.])[-+−]?\s?\d*\s?(?:√\s?\(?\d+\)?|π)(?:\s*\/\s*\d+)?|(?<![\w.:])\d{1,2}:\d{2}(?![\d:])(?:\s?[ap]\.?m\b\.?)?|(?<![\w.])[-+−]?\s?(?:\\?[$€£])?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s*\/\s*\d+(?:\.\d+)?)?(?:\s?\\?%)?|(?<![\w.])[-+−]?\.\d+/g;
  return [...text.matchAll(pattern)].at(-1)?.[0].trim();
}
