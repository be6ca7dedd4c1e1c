/**
 * Writes a formula in one way: sizing and spacing commands gone, Unicode signs as LaTeX, plain-text functions as LaTeX,
 * thousands separators, units, currency and closing punctuation removed. Nothing here changes the value of a formula
 * except by dropping what graders of mathematics ignore: units, degree signs and the word around a number.
 */
import { asciiDigits } from "../python-text.ts";
import { closingBrace, formulas } from "./text-spans.ts";

/** The formula in its plain form; text commands stay as `\text{…}` where they may be the answer. */
export function cleanLatex(source: string): string {
  let text = source.trim();
  const spans = formulas(text);
  if (spans.length > 0) {
    const between =
      spans.map((span, i) => text.slice(spans[i - 1]?.end ?? 0, span.start)).join("") + text.slice(spans.at(-1)!.end);
    // `$5$ cm`, `$x=1$ or $x=2$`: the formulas with the words between them, dollars dropped.
    if (between.length < 60) {
      let joined = "";
      let at = 0;
      for (const span of spans) {
        joined += `${prose(text.slice(at, span.start))} ${span.inner} `;
        at = span.end;
      }
      text = joined + prose(text.slice(at));
    }
  }
  // Commands with their backslash doubled, as an escaped text has them; in environments two backslashes end a row.
  if (!/\\begin\s*\{/.test(text)) text = text.replace(/\\\\(?=[a-zA-Z])/g, "\\");
  text = text.replace(/\\(left|right)\s*\\+(?=[()[\]])/g, "\\$1");
  text = unicode(text);
  // A thousands comma drawn closer, and units written as a fraction of two upright letters.
  text = text.replace(/(?<=\d)\s*,\s*\\!\s*(?=\d{3}(?!\d))/g, "");
  text = text.replace(
    /\\(?:mathrm|text)\s*\{\s*~?\s*[a-zA-Z]{1,3}\s*\}\s*\/\s*\\(?:mathrm|text)\s*\{\s*~?\s*[a-zA-Z]{1,3}\s*\}/g,
    "\\text{ unit}",
  );
  text = text.replace(
    /\\begin\{(align|aligned|equation|gather|gathered|split)\*?\}|\\end\{(align|aligned|equation|gather|gathered|split)\*?\}/g,
    "",
  );
  // A system with one brace on its left is what `cases` writes.
  text = text.replace(
    /\\left\s*\\\{\s*\\begin\{(array|aligned|matrix)\}(?:\{[^}]*\})?([\s\S]*?)\\end\{\1\}\s*\\right\s*\./g,
    "\\begin{cases}$2\\end{cases}",
  );
  text = text.replace(/(?<!\\)\\[$]|(?<!\\)\$|\\(?:pounds|euro)\b|\p{Sc}/gu, "");
  text = text.replace(/&\s*(?=[=<>]|\\(?:le|ge|approx)(?![a-z]))/g, "");
  // A line that begins with a relation continues the line before it.
  text = text.replace(/\\\\\s*(?=[=<>]|\\(?:le|ge|approx)(?![a-z]))/g, " ");
  text = sizing(text);
  text = text
    .replace(/(?<=[\d}])\s*(?:percent(?:age)?|per cent|pct)\b\.?/gi, "%")
    .replace(/\\?%/g, "\\%")
    .replace(/\s*\\text\s*\{\s*(?:\\%|percent(?:age)?|pct)\s*\}/gi, "\\%");
  text = thousands(text);
  text = degrees(text);
  text = texts(text);
  text = plainFunctions(text);
  text = shorthand(text);
  return text
    .replace(/\s+/g, " ")
    .replace(/^[\s,;:.]+(?=\S)(?<!\.)|[\s,;:]+$/g, "")
    .replace(/(?<=[^.\\])\.$/, "")
    .replace(/^\+(?=\s*[\d\\a-zA-Z(])/, "")
    .trim();
}

/** Words outside formulas: separators stay, the rest is dropped or kept as text. */
function prose(text: string): string {
  const words = text.replace(/[.*]+\s*$/g, "").trim();
  if (words === "") return "";
  if (/^(?:,|;)?\s*(?:and|or)?\s*(?:,|;)?$/i.test(words))
    return words.replace(/and/i, "\\text{ and }").replace(/or/i, "\\text{ or }");
  if (/^[-+\d.,/%^()\s]+$/.test(words)) return words;
  return `\\text{${words.replace(/[{}\\]/g, "")}}`;
}

/** Signs by what they are in LaTeX. */
const latexOf: Readonly<Record<string, string>> = {
  "-": "−–—﹣－", "\\times ": "×✕", "\\cdot ": "·⋅∙", "\\div ": "÷", "\\pi ": "π", "\\infty ": "∞", "\\le ": "≤⩽", "\\ge ": "≥⩾",
  "\\ne ": "≠", "\\pm ": "±", "\\mp ": "∓", "\\cup ": "∪", "\\cap ": "∩", "\\in ": "∈", "\\emptyset ": "∅", "\\mathbb{R}": "ℝ",
  "\\mathbb{Z}": "ℤ", "\\mathbb{N}": "ℕ", "^\\circ ": "°", "/": "⁄∕／", "\\theta ": "θ", "\\alpha ": "α", "\\beta ": "β",
  "\\lambda ": "λ", "(": "（", ")": "）", ",": "，、", " ": "\u00a0\u2009\u202f\u200b",
}; // biome-ignore format: a table
const signs = new Map(
  Object.entries(latexOf).flatMap(([latex, list]) => [...list].map((sign) => [sign, latex] as const)),
);
const anySign = new RegExp(`[${[...signs.keys()].join("")}]`, "gu");

function unicode(text: string): string {
  // Digits of every script, fractions that are one sign, and signs drawn small above or below the line.
  return asciiDigits(text)
    .replace(/[¼-¾⅐-⅞↉]/g, (sign) => sign.normalize("NFKC").replace(/(\d+)⁄(\d+)/, "\\frac{$1}{$2}"))
    .replace(/[⁰¹²³⁴-⁹⁺⁻ⁿ]+/g, (signs) => `^{${signs.normalize("NFKC").replace("−", "-")}}`)
    .replace(/[₀-₉₊₋]+/g, (signs) => `_{${signs.normalize("NFKC").replace("−", "-")}}`)
    .replace(/√\s*\(([^()]*)\)|√\s*(\d+(?:\.\d+)?|[a-zA-Z])/g, "\\sqrt{$1$2}")
    .replace(anySign, (sign) => signs.get(sign)!);
}

/** Commands that are written in several ways. */
const spellings: Readonly<Record<string, string>> = {
  leqslant: "\\le ", leqq: "\\le ", leq: "\\le ", geqslant: "\\ge ", geqq: "\\ge ", geq: "\\ge ", neq: "\\ne ", lt: "<", gt: ">",
  varnothing: "\\emptyset ", empty: "\\emptyset ", notin: "\\in \\mathbb{R} \\setminus ", backslash: "\\setminus ", lvert: "|",
  rvert: "|", vert: "|", mid: "|", colon: ":", lbrack: "[", rbrack: "]", lparen: "(", rparen: ")",
}; // biome-ignore format: a table

/** Drops what only changes the look. */
function sizing(text: string): string {
  return text
    .replace(/\\(?:left|right)\s*\./g, "")
    .replace(/\\(?:left|right|middle|[bB]igg?[lrm]?)(?![a-zA-Z])\s*/g, "")
    .replace(
      /\\(?:displaystyle|textstyle|scriptstyle|limits|nolimits|hfill|newline|phantom\{[^}]*\}|boldsymbol|bf|rm|it)(?![a-zA-Z])/g,
      " ",
    )
    .replace(/\\(?:hspace|vspace|label|tag)\*?\{[^}]*\}/g, " ")
    .replace(/(?<!\\)\\[,!;:> ]|~|\\(?:quad|qquad|thinspace|enspace)(?![a-zA-Z])/g, (space) =>
      space === "\\!" ? "" : " ",
    )
    .replace(/\\[dtc]frac(?![a-zA-Z])/g, "\\frac")
    .replace(/\\[dt]binom(?![a-zA-Z])/g, "\\binom")
    .replace(/\\([a-zA-Z]+)/g, (command, name: string) => (Object.hasOwn(spellings, name) ? spellings[name]! : command))
    .replace(/\\not\s*=/g, "\\ne ")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/\\not\s*\\in(?![a-zA-Z])/g, "\\in \\mathbb{R} \\setminus ")
    .replace(/\\lbrace/g, "\\{")
    .replace(/\\rbrace/g, "\\}")
    .replace(/\\(?:mathbf|mathit|mathsf|mathcal|vec|overrightarrow|hat|bm)\s*\{([^{}]*)\}/g, "$1")
    .replace(/\\(?:mathbf|mathit|vec|bm)\s*([a-zA-Z])(?![a-zA-Z])/g, "$1")
    .replace(/\\(?:Bbb|mathbb)\s*\{?\s*([A-Z])\s*\}?/g, "\\mathbb{$1}")
    .replace(
      /\\operatorname\*?\s*\{\s*(arcsin|arccos|arctan|arccot|sin|cos|tan|log|ln|exp|max|min|gcd|lcm|sinh|cosh|tanh|cot|sec|csc)\s*\}/g,
      "\\$1 ",
    )
    .replace(/\\(?:mathrm|mathop)\s*\{\s*(arcsin|arccos|arctan|sin|cos|tan|log|ln|exp|lcm|gcd|max|min)\s*\}/g, "\\$1 ")
    .replace(/\\(?:mathrm|operatorname)\s*\{\s*([ei])\s*\}/g, "$1");
}

/**
 * `1,000`, `1{,}000`, `10,\!080`, `1 000 000`, `1'000'000` and `1.000.000` are one number, `1{,}5` is 1.5; `1, 000` in a
 * list is neither, and `1.000` is 1.
 */
function thousands(text: string): string {
  return text
    .replace(/(?<![\d.,'’])\d{1,3}(?:(?:['’]\d{3})+|(?:\.\d{3}){2,})(?![\d.'’])/g, (number) =>
      number.replace(/\D/g, ""),
    )
    .replace(/(\d)\s*\{\s*,\s*\}\s*(?=\d{3}(?!\d))/g, "$1")
    .replace(/(\d)\s*\{\s*,\s*\}\s*(?=\d)/g, "$1.")
    .replace(
      /(?<![\d.,])\d{1,3}(?:,\s?\d{3})+(?![\d])(?!\s*,\s*\d{1,2}(?!\d|,\d{3}))/g,
      (number, at: number, all: string) => {
        // (1,234) is a pair or one number: inside brackets with nothing else, the comma separates.
        const spaced = /,\s/.test(number);
        const before = all.slice(0, at).trimEnd().at(-1) ?? "";
        const bracketed = /[([{,]/.test(before) || /^\s*[)\]},]/.test(all.slice(at + number.length).replace(/^\\/, ""));
        // (1,000, 2,000): where a comma with a space separates inside these brackets, one without does not.
        const otherwiseSeparated = !spaced && /,\s/.test(aroundIn(all, at, at + number.length));
        return spaced || (bracketed && !otherwiseSeparated) ? number : number.replace(/,/g, "");
      },
    )
    .replace(/(?<![\d.,\w])(\d+) (\d+)\/(\d+)(?![\d.])/g, (text, whole: string, top: string, bottom: string) =>
      Number(top) < Number(bottom) ? `${whole}\\frac{${top}}{${bottom}}` : text,
    )
    .replace(/(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.])/g, (number) => number.replace(/ /g, ""));
}

/** The text around a place, inside the innermost brackets that enclose it. */
function aroundIn(text: string, start: number, end: number): string {
  const before = /[^()[\]{}]*$/.exec(text.slice(0, start))![0];
  const after = /^[^()[\]{}]*/.exec(text.slice(end))![0];
  return `${before} ${after}`;
}

/** A degree sign is a unit: outside trigonometric functions it is dropped. */
function degrees(text: string): string {
  if (/\\(?:sin|cos|tan|cot|sec|csc)(?![a-zA-Z])/.test(text)) return text;
  return text
    .replace(/\^\s*\{\s*\\circ\s*\}|\^\s*\\circ(?![a-zA-Z])|\\degrees?(?![a-zA-Z])/g, " ")
    .replace(/\\circ(?![a-zA-Z])\s*$/g, "");
}

const textCommand = /\\(?:text(?:bf|it|rm|normal|sf|tt)?|mbox|hbox|mathrm|operatorname|textrm|rm)\s*\{/g;

/**
 * Text commands: separators become `\text{and}`, a text beside a number is its unit and is dropped, a text alone stays.
 */
function texts(text: string): string {
  let result = "";
  let at = 0;
  textCommand.lastIndex = 0;
  const pieces: { latex: string; word?: string }[] = [];
  for (let match = textCommand.exec(text); match; match = textCommand.exec(text)) {
    const open = match.index + match[0].length - 1;
    const end = closingBrace(text, open);
    if (end < 0) break;
    pieces.push({ latex: text.slice(at, match.index) }, { latex: "", word: text.slice(open + 1, end) });
    at = end + 1;
    textCommand.lastIndex = at;
  }
  pieces.push({ latex: text.slice(at) });
  const hasFormula = pieces.some(
    (piece) => piece.word === undefined && /[\d\\a-zA-Z]/.test(piece.latex.replace(/\\ /g, "")),
  );
  for (const [i, { latex, word }] of pieces.entries()) {
    if (word === undefined) {
      // The exponent of a dropped unit: `15 \mbox{ cm}^2`.
      const afterUnit = hasFormula && i > 0;
      result += afterUnit ? latex.replace(/^\s*\^\s*(?:\{\s*\d\s*\}|\d)/, "") : latex;
      continue;
    }
    const bare = word.replace(/\\[a-z]+|[{}$]/g, " ").trim();
    if (/^(?:,|;)?\s*(?:and|or|und|oder)\s*$/i.test(bare))
      result += ` \\text{${bare.replace(/[,;]\s*/, "").toLowerCase()}} `;
    else if (hasFormula && /^(?:if|for|when|otherwise|mod|where)$/i.test(bare))
      result += ` \\text{${bare.toLowerCase()}} `;
    else if (hasFormula && /^[\d.,\s/+-]+$/.test(bare)) result += ` ${bare} `;
    else if (hasFormula) result += " ";
    else result += `\\text{${word}}`;
  }
  return result;
}

const functionNames = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|max|min|gcd|lcm";

/** `sqrt(2)*pi` and its like, as people type them without LaTeX. */
function plainFunctions(text: string): string {
  return text
    .replace(/(?<![\\a-zA-Z])(?:a)(sin|cos|tan)(?=\s*\()/g, "\\arc$1 ")
    .replace(new RegExp(`(?<![\\\\a-zA-Z])(${functionNames})(?![a-zA-Z])`, "g"), "\\$1 ")
    .replace(/(?<![\\a-zA-Z])pi(?![a-zA-Z])/g, "\\pi ")
    .replace(/(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])/gi, "\\infty ")
    .replace(/(?<![\\a-zA-Z])(?:sqrt)\s*\(/g, "\\sqrt(")
    .replace(/\\sqrt\s*\(/g, (match, at: number, all: string) =>
      balanced(all, at + match.length - 1) ? "\\sqrt(" : match,
    )
    .replace(/(?<![\\a-zA-Z])abs\s*\(([^()]*)\)/g, "|$1|")
    .replace(/\*\*/g, "^")
    .replace(/(?<=[\d)\]a-zA-Z}])\s*\*\s*(?=[\d(\\a-zA-Z{[-])/g, " \\cdot ")
    .replace(/(?<![\w.])((?:\d+\.?\d*|\.\d+))[eE]([-+]?\d+)(?!\w)/g, "$1\\times 10^{$2}")
    .replace(/(?<=\d)\s*[xX]\s*(?=10\s*\^)/g, " \\times ")
    .replace(/<=|=</g, "\\le ")
    .replace(/>=/g, "\\ge ")
    .replace(/!=/g, "\\ne ");
}

/** Where the bracket at `open` is closed, or 0. */
function balanced(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")" && --depth === 0) return i;
  }
  return 0;
}

/** Completes short forms: `\sqrt(…)`, `\sqrt12`, `x^10`, `^(…)`, `\frac 1 2`, `.5`. */
function shorthand(text: string): string {
  for (let at = text.indexOf("\\sqrt("); at >= 0; at = text.indexOf("\\sqrt(", at + 1)) {
    const close = balanced(text, at + 5);
    if (close) text = `${text.slice(0, at)}\\sqrt{${text.slice(at + 6, close)}}${text.slice(close + 1)}`;
  }
  for (let at = text.indexOf("^("); at >= 0; at = text.indexOf("^(", at + 1)) {
    const close = balanced(text, at + 1);
    if (close) text = `${text.slice(0, at)}^{${text.slice(at + 2, close)}}${text.slice(close + 1)}`;
  }
  return text
    .replace(/(?<![a-zA-Z\\])C\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)/g, "\\binom{$1}{$2}")
    .replace(/(?<![a-zA-Z])C_\{?(\d+)\}?\^\{?(\d+)\}?/g, "\\binom{$1}{$2}")
    .replace(/\\sqrt\s*(\d+(?:\.\d+)?)/g, "\\sqrt{$1}")
    .replace(/\\sqrt\s*([a-zA-Z])(?![a-zA-Z])/g, "\\sqrt{$1}")
    .replace(/\^\s*(-?\d{2,}|-\d)/g, "^{$1}")
    .replace(/\\frac\s*(\d)\s*(\d)(?!\d)/g, "\\frac{$1}{$2}")
    .replace(/\\frac\s+([a-zA-Z\d])\s*([a-zA-Z\d])/g, "\\frac{$1}{$2}")
    .replace(/\\frac\s*\{([^{}]*)\}\s*([a-zA-Z\d])/g, "\\frac{$1}{$2}")
    .replace(/\\frac\s*([a-zA-Z\d])\s*\{/g, "\\frac{$1}{")
    .replace(/(?<![\d}])\.(?=\d)/g, "0.");
}
