/**
 * What is allowed between tags, as regular expressions. Free text contains no `<` before a letter or a slash, so
 * nothing in it can be taken for a tag; programs may contain any `<` except known tags and `</`. Bodies are never
 * blank.
 */
import type { BodyFormat } from "../profile.ts";
import { characters, choice, type Expression, literal, noneOf, optional, sequence, star } from "./rules.ts";

/** White space as `trim` understands it. */
const blanks = [
  "\t-\r",
  " ",
  "\u00a0",
  "\u1680",
  "\u2000-\u200a",
  "\u2028-\u2029",
  "\u202f",
  "\u205f",
  "\u3000",
  "\ufeff",
];

/** A little white space. Bounded, because a confused model could write it for ever. */
export const spaces = sequence(optional(characters([" ", "\n"])), optional(characters([" ", "\n"])));

/** Text without anything that looks like a tag. */
export function freeText(): Expression {
  return sequence(spaces, choice(noneOf(...blanks, "<"), harmlessAngle), freeTextRest());
}

/** What may follow once free text has begun. */
export function freeTextRest(): Expression {
  return star(choice(noneOf("<"), harmlessAngle));
}

const harmlessAngle = sequence(literal("<"), noneOf("<", "/", "a-z"));

/** One or more URLs joined with `|`. */
export function urlList(): Expression {
  const inUrl = noneOf(...blanks, "|", "<", ">");
  const url = sequence(literal("http"), optional(literal("s")), literal("://"), inUrl, star(inUrl));
  const gap = optional(literal(" "));
  return sequence(spaces, url, star(sequence(gap, literal("|"), gap, url)), spaces);
}

/** A program, fenced as the format asks, with its standard input where that is allowed. */
export function codeText(format: Extract<BodyFormat, { kind: "code" }>, tags: readonly string[]): Expression {
  const angle = sequence(literal("<"), noTag(trie(tags), true));
  const unit = choice(
    noneOf("<", "`"),
    angle,
    sequence(literal("`"), noneOf("<", "`")),
    sequence(literal("``"), noneOf("<", "`")),
  );
  const program = sequence(spaces, choice(noneOf(...blanks, "<", "`"), angle), star(unit));
  if (format.fence === null) return program;
  const stdin = sequence(literal("\n```sh\n"), star(unit), literal("\n```"));
  const after = format.stdin ? optional(stdin) : literal("");
  return sequence(spaces, literal(`\`\`\`${format.fence}\n`), program, literal("\n```"), after, spaces);
}

interface Trie {
  ends: boolean;
  next: Map<string, Trie>;
}

function trie(words: readonly string[]): Trie {
  const root: Trie = { ends: false, next: new Map() };
  for (const word of words) {
    let node = root;
    for (const letter of word) {
      let child = node.next.get(letter);
      if (!child) node.next.set(letter, (child = { ends: false, next: new Map() }));
      node = child;
    }
    node.ends = true;
  }
  return root;
}

/** Characters after a `<` that do not make it one of the tags: some prefix of their names, then another character. */
function noTag(node: Trie, first: boolean): Expression {
  const excluded = ["<", "`", ...node.next.keys(), ...(first ? ["/"] : []), ...(node.ends ? [">", ...blanks] : [])];
  return choice(
    noneOf(...excluded),
    ...[...node.next].map(([letter, child]) => sequence(literal(letter), noTag(child, false))),
  );
}

/** What JSON is made of; an angle bracket in a text is written as an escape, so that it can't look like a tag. */
export function jsonParts() {
  const plain = noneOf('"', "\\", "<", "\u0000-\u001f");
  const hex = characters(["0-9", "a-f", "A-F"]);
  const escaped = sequence(
    literal("\\"),
    choice(characters(['"', "\\", "/", "b", "f", "n", "r", "t"]), sequence(literal("u"), hex, hex, hex, hex)),
  );
  const string = sequence(literal('"'), star(choice(plain, escaped)), literal('"'));
  const digit = characters(["0-9"]);
  const whole = choice(literal("0"), sequence(characters(["1-9"]), star(digit)));
  const number = sequence(optional(literal("-")), whole, optional(sequence(literal("."), digit, star(digit))));
  const gap = optional(characters([" ", "\n"]));
  return { string, number, whole, gap };
}

/** A flat JSON object: strings, numbers, truth values, null, and lists of strings. */
export function jsonObject(): Expression {
  const { string, number, gap } = jsonParts();
  const key = sequence(
    literal('"'),
    characters(["a-z", "A-Z", "_"]),
    star(characters(["a-z", "A-Z", "0-9", "_"])),
    literal('"'),
  );
  const list = sequence(literal("["), string, star(sequence(literal(","), gap, string)), literal("]"));
  const value = choice(string, number, literal("true"), literal("false"), literal("null"), list);
  const field = sequence(key, literal(":"), gap, value);
  return sequence(literal("{"), gap, field, star(sequence(literal(","), gap, field)), gap, literal("}"));
}

/** The same in its fence. */
export function jsonText(): Expression {
  return sequence(spaces, literal("```json\n"), jsonObject(), literal("\n```"), spaces);
}
