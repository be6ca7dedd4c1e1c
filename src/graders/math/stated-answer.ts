/** What a text names as its answer: "the final answer is …", "Answer: …", "… is the answer", "therefore … is …". */
import { looksLikeFormula, withoutUnit } from "./formula-text.ts";
import { lastValue } from "./last-value.ts";
import { formulas, joinedSpans } from "./text-spans.ts";

const isOrAre = String.raw`(?:\s+(?:is|are|equals|would\s+be|should\s+be|must\s+be|will\s+be|becomes)(?![a-zA-Z])|\s*[:=：])`;
const aside = String.raw`(?:\s+(?:to|of|for|here)(?![a-zA-Z])[^.:\n]{0,60}?)?(?:,)?`;

/** Strongest first. Of several places that one of them fits, the last counts. */
const phrases = [
  new RegExp(String.raw`final\s+answer\**${aside}\**${isOrAre}`, "gi"),
  new RegExp(
    String.raw`(?:answer|(?:correct|right|best)\s+(?:option|choice))s?\**${aside}\**${isOrAre}|答案(?:是|为|:|：)`,
    "gi",
  ),
  // The mark of grade-school answers.
  /^####\s+(?=\S)/gm,
  /answers?\s+(?=[-+$\\\d(])/gi,
  /answers?(?![a-zA-Z])[^\n.]{0,50}?(?=[\s*](?:\$|\\\(|\\\[|[-+]?\d))/gi,
];

const conclusion = /(?:therefore|thus|hence|so)(?![a-zA-Z])[^.\n]{0,40}?\s(?:is|are|equals)(?=\s*[-+\p{Sc}\\\d(])/giu;

/** The value that is named as the answer, or undefined where none is. */
export function statedAnswer(text: string): string | undefined {
  for (const phrase of phrases) {
    const last = [...text.matchAll(phrase)].at(-1);
    const stated = last && valueAfter(text.slice(last.index + last[0].length));
    if (stated !== undefined) return stated;
  }
  const closing = [...text.matchAll(conclusion)].at(-1);
  const rest = closing && text.slice(closing.index + closing[0].length);
  // A conclusion counts where no value comes after its sentence.
  const later = rest?.split(sentenceEnd).slice(1).join(" ");
  const concluded = rest !== undefined && !/[\d\\]/.test(later!) ? valueAfter(rest) : undefined;
  if (concluded !== undefined) return concluded;
  const before = /^([^\n]{1,200}?)\s+is\s+(?:the|our|my)\s+(?:final\s+|correct\s+)?answer\W*$/i.exec(
    text.split("\n").at(-1)!,
  );
  return before ? lastValue(before[1]!)?.text : undefined;
}

/** What is named the final answer and closed by "I hope it is correct", or named so behind the place `after`. */
export function finalAnswer(text: string, after: number): string | undefined {
  const named = [...text.matchAll(phrases[0]!)];
  const closed = named.findLast(({ index }) => /^[^\n]{0,300}?\.?\s?I hope/.test(text.slice(index, index + 400)));
  const last = closed ?? named.findLast(({ index }) => index >= after);
  if (!last) return undefined;
  const rest = text.slice(last.index + last[0].length);
  const value = valueAfter(closed ? rest.slice(0, rest.search(/\.?\s?I hope/)) : rest);
  return value !== undefined && !value.includes("\\boxed") && /[\d\\]/.test(value) ? value : undefined;
}

const filler =
  /^(?:[\s,:*]|(?:therefore|thus|hence|then|approximately|about|roughly|around|exactly|simply|just|indeed|equal\s+to|given\s+by|that|it\s+is|as\s+follows)(?![a-zA-Z]))+/i;

const sentenceEnd = /\n|(?<=[^\d\s.])\.(?:\s|$)|(?<=\d)\.(?:\s|$)/;

function valueAfter(text: string): string | undefined {
  const rest = text.replace(/\.?\s*I hope it is correct\.?\s*$/i, "").replace(filler, "");
  // A formula right after the phrase is the answer even where its sentence continues over lines.
  if (formulas(rest.slice(0, 4000))[0]?.start === 0) return withoutUnit(joinedSpans(formulas(rest), rest, "first")!);
  // A formula that its line does not close states nothing.
  const sentence = rest
    .split(sentenceEnd)[0]!
    .replace(/\*\*/g, "")
    .replace(/\\\((?!.*\\\)).*$/, "")
    .trim();
  if (!/[\p{L}\d]/u.test(sentence)) return undefined;
  const lettered = choice(sentence);
  if (lettered !== undefined || looksLikeFormula(sentence)) return withoutUnit(lettered ?? sentence);
  return withoutUnit(leading(sentence) ?? inside(sentence) ?? sentence);
}

const number = String.raw`[-+−]?\s?(?:\\?[$]|\p{Sc})?\d[\d,]*(?:\.\d+)?(?:\s*\/\s*\d+)?`;
const point = String.raw`[([]\s?${number}(?:\s?,\s?${number})+\s?[)\]]`;
const value = `(?:${point}|${number})`;

/** A value, or several, with words after them: `8 fruits`, `20, which is 7 more than 13`, `3 and 5 (both prime)`. */
const leadingValue = new RegExp(
  String.raw`^(${value}(?:\s?(?:,|and|or|,\s?and|,\s?or)\s${value})*(?:\s?(?:\\?%|percent(?:age)?|pct)(?![a-zA-Z]))?)\s*(?:$|[,;(!?]|[A-Za-z]{3}|(?:as|in|of|is|by|on|at|to|so|if|km|cm|mm|kg|ml|ft|m|g|s|h|L)(?![a-zA-Z]))`,
  "iu",
);

/** The letter of a choice that is named with its value: `(B) 12`. */
function choice(sentence: string): string | undefined {
  const named = /^\(?([A-H])[).:]\)?\s+\S/.exec(sentence);
  return named ? `\\text{${named[1]}} ${sentence.slice(named[0].length - 1)}` : undefined;
}

function leading(sentence: string): string | undefined {
  const found = leadingValue.exec(sentence)?.[1];
  const after = found && sentence.slice(found.length);
  return found && !/^\s*(?:[-=+*^×]|plus|minus|times)/.test(after!) ? found.replace(/,$/, "") : undefined;
}

/** What a sentence of working comes to: the value after its last equals sign, or its last value. */
function inside(sentence: string): string | undefined {
  const result = /(?:=|(?<![a-zA-Z])(?:equals|makes|gives|yields)(?![a-zA-Z]))([^=]*)$/.exec(sentence);
  if (result && formulas(sentence).length === 0) {
    const side = result[1]!.trim();
    return looksLikeFormula(side) ? side : (leading(side) ?? lastValue(side)?.text);
  }
  return lastValue(` ${sentence}`)?.text;
}
