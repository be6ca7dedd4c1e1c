/**
 * Which texts a prompt quotes. Programs that wire agents in code paste the reply of one into the prompt of the next: a
 * passage of some length that stands in both says so. Every text is read once, so a day's traffic takes no more than its
 * own length.
 */
import { asObject, parseJson } from "../core/json-value.ts";

const minLength = 25;
/** What is quoted is known by its beginning: a line that repeats itself must not be compared with itself at each word. */
const maxLength = 2_000;

/** White space differs between what was said and how it is quoted. */
export function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** What can be recognised of a text elsewhere: its lines without bullets, and the texts inside JSON. */
export function passagesOf(text: string): string[] {
  const found = new Set<string>();
  const add = (line: string) => {
    const passage = squeeze(line.replace(/^\s*(?:[-*•#>]+|\d+[.)])\s+/, "")).slice(0, maxLength);
    if (passage.length >= minLength) found.add(passage);
  };
  const walk = (value: unknown, level: number): void => {
    if (typeof value === "string") value.split("\n").forEach(add);
    else if (level < 8) for (const inner of Object.values(asObject(value) ?? value ?? {})) walk(inner, level + 1);
  };
  const json = /^\s*(?:```\w*\s*)?([[{][\s\S]*[\]}])\s*(?:```)?\s*$/.exec(text)?.[1];
  walk((json && parseJson(json)) ?? text, 0);
  return [...found];
}

export interface Quotes<T> {
  add(passage: string, by: T): void;
  in(text: string): string[];
  saidBy(passage: string): readonly T[];
}

/** An empty collection of passages; texts are looked through once all are added. */
export function quoteIndex<T>(): Quotes<T> {
  const saidBy = new Map<string, T[]>();
  /** The lengths of the passages that begin alike. */
  const lengths = new Map<string, Set<number>>();
  const seen = new Map<string, string[]>();
  return {
    add(passage, by) {
      const all = saidBy.get(passage);
      if (all) {
        all.push(by);
        return;
      }
      saidBy.set(passage, [by]);
      const start = passage.slice(0, minLength);
      const known = lengths.get(start);
      if (known) known.add(passage.length);
      else lengths.set(start, new Set([passage.length]));
    },
    in(text) {
      const known = seen.get(text);
      if (known) return known;
      const flat = squeeze(text);
      const found = new Set<string>();
      const word = /[\p{L}\p{N}_]/u;
      for (let at = 0; at + minLength <= flat.length; at++) {
        if (at > 0 && word.test(flat[at - 1]!)) continue;
        for (const length of lengths.get(flat.slice(at, at + minLength)) ?? []) {
          const passage = flat.slice(at, at + length);
          if (saidBy.has(passage)) found.add(passage);
        }
      }
      seen.set(text, [...found]);
      return seen.get(text)!;
    },
    saidBy: (passage) => saidBy.get(passage) ?? [],
  };
}
