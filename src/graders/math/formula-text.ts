/** Whether a text is a formula or prose, and what people write around a bare value: units, filler words, remarks. */
import { formulas } from "./text-spans.ts";

/** Whether a text is one formula or a short value, rather than prose around one. */
export function looksLikeFormula(text: string): boolean {
  if (/(?<!\\)\$|\\\[|\\\(/.test(text)) return wholeFormula(text);
  if (/\n/.test(text) && !/\\begin/.test(text)) return false;
  const prose = text
    .replace(/\\(?:text|mbox|mathrm|operatorname|textbf|begin|end)\s*\{[^}]*\}/g, "")
    .replace(/\\[a-zA-Z]+/g, "");
  if (/(?<![A-Za-z\\])(?:so|is|it|we|of|as|to(?!\s\d))(?![A-Za-z])/.test(prose)) return false;
  const words = prose.match(/[A-Za-z]{3,}/g) ?? [];
  return words.every((word) => plainWords.has(word.toLowerCase()));
}

const unitWords =
  /\s+(?:(?:square|sq\.?|cubic)\s+)?(?:rad(?:ians?)?|degrees?|units?|meters?|metres?|centimeters?|kilometers?|inch(?:es)?|feet|foot|miles?|yards?|dollars?|cents?|hours?|minutes?|seconds?|years?|days?|weeks?|months?|grams?|kilograms?|pounds?|liters?|litres?)\.?$/i;

/** A value without the unit that is written as a word after it. */
export function withoutUnit(text: string): string {
  return text.replace(unitWords, "");
}

/** Words that occur inside plain-text formulas, so they are not prose. */
const plainWords = new Set(
  "percent percentage pct sqrt cbrt sin cos tan cot sec csc log exp abs arcsin arccos arctan asin acos atan sinh cosh tanh infinity inf and max min gcd lcm mod".split(
    " ",
  ),
);

/** Whether the whole text is exactly one or more formulas, nothing but punctuation and units around them. */
function wholeFormula(text: string): boolean {
  return formulas(text).length === 1 && /^\s*(\$\$?|\\\[|\\\()/.test(text) && /(\$\$?|\\\]|\\\))\s*\.?\s*$/.test(text)
    ? true
    : /^\\?\$\s*-?[\d.,\s]+$/.test(text);
}
