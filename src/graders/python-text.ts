/**
 * Text as Python sees it. The official scorers are Python programs, and their verdicts depend on what Python counts as
 * punctuation, white space, a word boundary and a number; JavaScript counts differently in each of them.
 */

/** `string.punctuation`: ASCII alone. */
const punctuation = /[!-/:-@[-`{-~]/g;

/** `str.isspace` of one character, and `\s` of a Python pattern: with the four separators and next line, without the byte order mark. */
const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const spaces = new RegExp(space, "g");
const spaceRun = new RegExp(`${space}+`);
const isSpace = new RegExp(space);
const isFloatSpace = new RegExp(`(?![\\x1c-\\x1f])${space}`);

// A pattern for the end of a text would be tried again from each blank of every run of blanks.
function trimmed(text: string, blank: RegExp): string {
  let [start, end] = [0, text.length];
  while (start < end && blank.test(text.charAt(start))) start++;
  while (end > start && blank.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

export function withoutPunctuation(text: string): string {
  return text.replace(punctuation, "");
}

/** The text with a blank for each sign of ASCII punctuation, slanted quote and accent, as TriviaQA's program has it. */
export function signsAsBlanks(text: string): string {
  return text.replace(punctuation, " ").replace(/[‘’´]/g, " ");
}

/** `re.sub(r"\s", "", text)`. */
export function withoutSpace(text: string): string {
  return text.replace(spaces, "");
}

/** `text.split()`. */
export function splitWords(text: string): string[] {
  return text.split(spaceRun).filter((word) => word !== "");
}

/** `text.strip()`. */
export function strip(text: string): string {
  return trimmed(text, isSpace);
}

// A word character of Python is a letter, a number or an underscore of any script; a combining mark is not.
const article = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** English articles as whole words are replaced by a space; boundaries are those of Unicode. */
export function withoutArticles(text: string): string {
  return text.replace(article, " ");
}

const floatText = /^[-+]?(?:(?:\d(?:_?\d)*)?(?:\.(?:\d(?:_?\d)*)?)?(?:e[-+]?\d(?:_?\d)*)?|inf(?:inity)?|nan)$/i;

/** `float(text)`: blanks around it, underscores between digits, digits of every script, infinity; undefined where Python raises. */
export function pythonFloat(text: string): number | undefined {
  // `float` strips less than `str.strip`: the four ASCII separators stay and make the text unreadable.
  const plain = asciiDigits(trimmed(text, isFloatSpace));
  if (!floatText.test(plain) || !/\d|inf|nan/i.test(plain)) return undefined;
  // A point alone or an exponent alone is not a number: there must be a digit before the exponent.
  if (!/^[-+]?(?:inf|nan)/i.test(plain) && !/\d/.test(plain.split(/e/i)[0]!)) return undefined;
  if (/nan/i.test(plain)) return Number.NaN;
  if (/inf/i.test(plain)) return plain.startsWith("-") ? -Infinity : Infinity;
  return Number(plain.replace(/_/g, ""));
}

/** Decimal digits of every script as ASCII ones; they come in runs of ten. */
export function asciiDigits(text: string): string {
  return text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    let start = code;
    while (/^\p{Nd}$/u.test(String.fromCodePoint(start - 1))) start--;
    return String((code - start) % 10);
  });
}

/** A finite decimal number as sign-carrying digits and a power of ten, without trailing zeros: equal numbers are equal texts. */
export function pythonDecimal(text: string): string | undefined {
  const plain = asciiDigits(strip(text)).replace(/_/g, "");
  const match = /^([-+]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:e([-+]?\d+))?$/i.exec(plain);
  if (!match) {
    const infinite = /^([-+]?)inf(?:inity)?$/i.exec(plain);
    return infinite ? `${infinite[1] === "-" ? "-" : ""}infinity` : undefined;
  }
  const [, sign, whole = "", fraction = "", bare = "", exponent = "0"] = match;
  const after = fraction + bare;
  const digits = (whole + after).replace(/^0+/, "");
  if (digits === "") return "0";
  const short = trimmed(digits, /0/);
  const power = BigInt(exponent) - BigInt(after.length) + BigInt(digits.length - short.length);
  return `${sign === "-" ? "-" : ""}${short}e${power}`;
}
