/**
 * JSON as models really write it: single quotes, trailing commas, bare keys, Python's True, False and None, comments,
 * line breaks inside strings. Strict JSON goes through the built-in parser; this reads what that one refuses.
 */

import { budgets, jsonExcess, maxDepth } from "../../core/budget.ts";

/** Parses relaxed JSON; throws a `SyntaxError` that says where and why. */
export function parseRelaxedJson(text: string): unknown {
  if (jsonExcess(text, budgets.line)) return relaxedParser(text).parse(); // which says where
  try {
    return JSON.parse(text);
  } catch {
    return relaxedParser(text).parse();
  }
}

/** The JSON object in a text, with or without prose and fences around it; throws a `SyntaxError` where there is none. */
export function jsonIn(text: string): unknown {
  const start = text.indexOf("{");
  if (start < 0) throw new SyntaxError(`there is no { in: ${text.slice(0, 80)}`);
  return parseRelaxedJson(text.slice(start, text.lastIndexOf("}") + 1));
}

/** The Python literal that begins at a place of a text: tuples as arrays; throws a `SyntaxError` where there is none. */
export function pythonLiteral(text: string, start = 0): unknown {
  return relaxedParser(text, { start, tuples: true }).value();
}

const words: Record<string, unknown> = {
  true: true,
  True: true,
  false: false,
  False: false,
  null: null,
  None: null,
  undefined: null,
  NaN: null,
};
const escapes: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", "0": "\0" };
const closingQuote: Record<string, string> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };

function relaxedParser(text: string, { start = 0, tuples = false } = {}) {
  let at = start;
  const fail = (what: string): never => {
    throw new SyntaxError(`${what} at character ${at}: ${text.slice(at, at + 20) || "end of text"}`);
  };

  function skip(): void {
    const space = /(?:\s+|\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    space.lastIndex = at;
    at += space.exec(text)?.[0].length ?? 0;
  }

  function value(depth: number): unknown {
    if (depth > maxDepth) fail("nested too deeply");
    skip();
    const first = text.charAt(at);
    if (first === "{") return object(depth);
    if (first === "[") return array(depth, "]");
    if (first === "(" && tuples) return array(depth, ")");
    if (first in closingQuote) return string();
    const number = /[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])/y;
    number.lastIndex = at;
    const digits = number.exec(text);
    if (digits) {
      at += digits[0].length;
      return Number(digits[0]);
    }
    const word = bareWord();
    return word in words ? words[word] : fail(`"${word}" is not a value`);
  }

  function bareWord(): string {
    const word = /[A-Za-z_$][\w$-]*/y;
    word.lastIndex = at;
    const found = word.exec(text);
    if (!found) return fail("expected a value");
    at += found[0].length;
    return found[0];
  }

  function name(): string {
    return text.charAt(at) in closingQuote ? string() : bareWord();
  }

  function string(): string {
    const quote = closingQuote[text.charAt(at++)];
    let result = "";
    let from = at; // the text between two escapes is copied as one piece
    while (at < text.length) {
      const character = text.charAt(at++);
      if (character === quote) return result + text.slice(from, at - 1);
      if (character !== "\\") continue;
      result += text.slice(from, at - 1);
      const escaped = text.charAt(at++);
      const digits = escaped === "u" ? 4 : escaped === "x" ? 2 : 0;
      const hex = text.slice(at, at + digits);
      if (digits > 0 && hex.length === digits && /^[0-9a-fA-F]+$/.test(hex)) {
        result += String.fromCharCode(Number.parseInt(hex, 16));
        at += digits;
      } else result += escapes[escaped] ?? escaped;
      from = at;
    }
    return fail("a string is never closed");
  }

  function array(depth: number, end: "]" | ")"): unknown[] {
    at++;
    const items: unknown[] = [];
    for (;;) {
      skip();
      if (text.charAt(at) === end) break;
      items.push(value(depth + 1));
      skip();
      if (text.charAt(at) === ",") at++;
      else if (text.charAt(at) !== end) fail(`expected "," or "${end}"`);
    }
    at++;
    return items;
  }

  function object(depth: number): Record<string, unknown> {
    at++;
    const entries: [string, unknown][] = [];
    for (;;) {
      skip();
      if (text.charAt(at) === "}") break;
      const key = /[-+.\d(]/.test(text.charAt(at)) ? String(value(depth)) : name();
      skip();
      if (text.charAt(at) !== ":" && text.charAt(at) !== "=") fail('expected ":"');
      at++;
      entries.push([key, value(depth + 1)]);
      skip();
      if (text.charAt(at) === ",") at++;
      else if (text.charAt(at) !== "}") fail('expected "," or "}"');
    }
    at++;
    return Object.fromEntries(entries);
  }

  return {
    value: () => value(0),
    parse(): unknown {
      const result = value(0);
      skip();
      if (at < text.length) fail("more text after the value");
      return result;
    },
  };
}
