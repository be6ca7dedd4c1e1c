/**
 * The rules as text for servers that decode under a grammar: GBNF (llama.cpp) and EBNF in the style of xgrammar (vLLM,
 * SGLang). Both dialects agree on everything used here; they are kept apart because only the names of escapes differ.
 */
import type { Grammar } from "../../core/model.ts";
import type { CharacterClass, Expression, RuleSet } from "./rules.ts";

/** The grammar in both dialects; the start rule is `root`. */
export function grammarText(set: RuleSet): Grammar {
  return { gbnf: write(set, gbnfEscape), ebnf: write(set, ebnfEscape) };
}

type Escape = (codePoint: number) => string;

function write(set: RuleSet, encode: Escape): string {
  return [...set.rules]
    .toSorted(([a], [b]) => Number(b === set.start) - Number(a === set.start))
    .map(([name, expression]) => `${name} ::= ${show(expression, encode, 0)}`)
    .join("\n");
}

/** `level`: 0 a whole rule, 1 inside a sequence, 2 under a repetition. */
function show(expression: Expression, encode: Escape, level: 0 | 1 | 2): string {
  switch (expression.kind) {
    case "literal":
    case "marker":
      return `"${[...expression.text].map((character) => quoted(character, encode)).join("")}"`;
    case "class":
      return showClass(expression, encode);
    case "rule":
      return expression.name;
    case "star":
      return `${show(expression.inner, encode, 2)}*`;
    case "sequence": {
      const parts = expression.parts.filter((part) => !(part.kind === "literal" && part.text === ""));
      if (parts.length === 0) return '""';
      if (parts.length === 1) return show(parts[0]!, encode, level);
      const text = parts.map((part) => show(part, encode, 1)).join(" ");
      return level === 2 ? `(${text})` : text;
    }
    case "choice": {
      const options = expression.options.filter((option) => !(option.kind === "literal" && option.text === ""));
      const text = options.map((option) => show(option, encode, 0)).join(" | ");
      if (options.length < expression.options.length) {
        return options.length === 1 ? `${show(options[0]!, encode, 2)}?` : `(${text})?`;
      }
      return level === 0 ? text : `(${text})`;
    }
    default:
      return expression satisfies never;
  }
}

const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"' };

function quoted(character: string, encode: Escape): string {
  const code = character.codePointAt(0)!;
  return named[character] ?? (code < 32 || code > 126 ? encode(code) : character);
}

function showClass(set: CharacterClass, encode: Escape): string {
  const one = (code: number) => {
    const character = String.fromCodePoint(code);
    if (character === '"') return '"';
    return "]^-".includes(character) ? `\\${character}` : quoted(character, encode);
  };
  const ranges = set.ranges.map(([from, to]) => (from === to ? one(from) : `${one(from)}-${one(to)}`));
  return `[${set.not ? "^" : ""}${ranges.join("")}]`;
}

const hex = (code: number, width: number) => code.toString(16).toUpperCase().padStart(width, "0");
const gbnfEscape: Escape = (code) =>
  code < 256 ? `\\x${hex(code, 2)}` : code < 65536 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
const ebnfEscape: Escape = (code) => (code < 65536 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`);
