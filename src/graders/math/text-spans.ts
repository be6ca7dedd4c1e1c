/** Where boxes, formulas and bare values are in a text, and which of them belong together. */

/** A stretch of the text: its place with its delimiters, and what is inside them. */
export interface Span {
  start: number;
  end: number;
  inner: string;
}

/** All `\boxed{…}` and `\fbox{…}`, with nested braces. */
export function boxes(text: string): Span[] {
  const spans: Span[] = [];
  for (const match of [...text.matchAll(/\\(?:boxed|fbox)(?![a-zA-Z])\s*/g)].slice(-40)) {
    const open = match.index + match[0].length;
    if (text[open] !== "{") {
      const bare = /^(?:\\left(?![a-zA-Z])[^$\n]*\\right\s*\S|[^\s$]+)/.exec(text.slice(open));
      if (bare) spans.push({ start: match.index, end: open + bare[0].length, inner: bare[0] });
      continue;
    }
    const end = closingBrace(text, open);
    if (end > 0) spans.push({ start: match.index, end: end + 1, inner: text.slice(open + 1, end) });
    else if (!text.slice(open).includes("\\boxed"))
      spans.push({ start: match.index, end: text.length, inner: unclosed(text.slice(open + 1)) });
  }
  // A box around a box is the inner one.
  return spans.filter((span, i) => !(spans[i + 1] && spans[i + 1]!.start < span.end));
}

/** The rest of a text that was cut off inside a box: its first line, with its missing closing braces. */
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
    // Formulas inside a line end on it; a search for the end of a single dollar fails at its line, not for good.
    const broken = open === "\\(" && close !== null && text.slice(inside, close.index).includes("\n");
    if (!close || broken) {
      if (open !== "$" && !broken) absent.add(key);
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
  $: /(?:\\.|[^$\\\n])+\$/y,
};

/** The text between two formulas of one list: a separator, alone. */
export function separated(between: string): boolean {
  return /^[\s$]*(?:,|;|and|or|,\s*and|,\s*or)[\s$]*$/i.test(between);
}

/** The text between two boxes of one enumeration: little, or a separator without a new sentence or a correction. */
export function enumerated(between: string): boolean {
  if (/[.!?]\s+[A-Z]/.test(between) || correction.test(between)) return false;
  if (between.replace(/\s+/g, " ").length < 10) return true;
  return between.length < 70 && /[,;\n]|\b(?:and|or)\b/i.test(between);
}

const correction =
  /\b(?:but|instead|wait|however|actually|correct(?:ed|ion)?|rather|not?|wrong|so|thus|hence|gives?|which)\b/i;

/** The last span (or first), together with its neighbours where only a separator is between them. */
export function joinedSpans(
  spans: Span[],
  text: string,
  end: "first" | "last" = "last",
  between: (text: string) => boolean = separated,
): string | undefined {
  if (spans.length === 0) return undefined;
  const joins = (a: Span, b: Span) => between(text.slice(a.end, b.start));
  let first = end === "last" ? spans.length - 1 : 0;
  let last = first;
  while (end === "last" && first > 0 && joins(spans[first - 1]!, spans[first]!)) first--;
  while (end === "first" && last + 1 < spans.length && joins(spans[last]!, spans[last + 1]!)) last++;
  // An answer that is said twice is one answer.
  return [...new Set(spans.slice(first, last + 1).map((span) => span.inner.trim()))].join(" , ");
}
