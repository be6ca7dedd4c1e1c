/**
 * A regular grammar as data: named rules over literals, character classes, sequences, choices and repetition. Rules may
 * refer to each other in circles only at the end of a sequence, so the language stays regular, and one description
 * yields a grammar text for a server and a byte automaton for token masks.
 */

/** Characters by code point ranges; `not` means all others. */
export interface CharacterClass {
  kind: "class";
  ranges: readonly (readonly [number, number])[];
  not: boolean;
}

export type Expression =
  | { kind: "literal"; text: string }
  /** A tag's opening or closing form: one special token where the tokenizer has it, its characters otherwise. */
  | { kind: "marker"; text: string }
  | CharacterClass
  | { kind: "sequence"; parts: readonly Expression[] }
  | { kind: "choice"; options: readonly Expression[] }
  | { kind: "star"; inner: Expression }
  /** A rule that leads back to itself is allowed only at the end. */
  | { kind: "rule"; name: string };

export interface RuleSet {
  start: string;
  rules: ReadonlyMap<string, Expression>;
}

export const literal = (text: string): Expression => ({ kind: "literal", text });
export const marker = (text: string): Expression => ({ kind: "marker", text });
export const sequence = (...parts: readonly Expression[]): Expression => ({ kind: "sequence", parts });
export const choice = (...options: readonly Expression[]): Expression =>
  options.length === 1 ? options[0]! : { kind: "choice", options };
export const star = (inner: Expression): Expression => ({ kind: "star", inner });
export const optional = (inner: Expression): Expression => choice(inner, literal(""));
export const rule = (name: string): Expression => ({ kind: "rule", name });

/** A class from single characters and ranges such as `a-z`. */
export function characters(members: readonly string[], not = false): CharacterClass {
  const ranges = members.map((member): readonly [number, number] => {
    const [from = "", dash, to] = [...member];
    return dash === "-" && to !== undefined
      ? [from.codePointAt(0)!, to.codePointAt(0)!]
      : [from.codePointAt(0)!, from.codePointAt(0)!];
  });
  return { kind: "class", ranges: ranges.toSorted((a, b) => a[0] - b[0]), not };
}

export const noneOf = (...members: readonly string[]): CharacterClass => characters(members, true);

const lastCodePoint = 0x10ffff;

/** The class as plain ranges of Unicode scalar values, surrogates left out. */
export function plainRanges(set: CharacterClass): [number, number][] {
  const wanted: [number, number][] = [];
  if (!set.not) wanted.push(...set.ranges.map(([from, to]): [number, number] => [from, to]));
  else {
    let next = 0;
    for (const [from, to] of set.ranges) {
      if (from > next) wanted.push([next, from - 1]);
      next = Math.max(next, to + 1);
    }
    if (next <= lastCodePoint) wanted.push([next, lastCodePoint]);
  }
  return wanted.flatMap(([from, to]): [number, number][] => {
    if (to < 0xd800 || from > 0xdfff) return [[from, to]];
    const parts: [number, number][] = [];
    if (from < 0xd800) parts.push([from, 0xd7ff]);
    if (to > 0xdfff) parts.push([0xe000, to]);
    return parts;
  });
}
