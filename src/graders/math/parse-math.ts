/**
 * The structure of an answer: what is a set, a tuple or interval, a list, a matrix, an equation or inequality, and what
 * is one formula. Only brackets and separators are looked at; formulas stay as LaTeX for the engine.
 */
import { cleanLatex } from "./clean-latex.ts";
import { matrixCells } from "./matrix-arithmetic.ts";

/** An answer as parsed. `source` is its cleaned LaTeX, for comparing as text and for reasons. */
export type MathValue = { source: string } & (
  | { kind: "expression"; latex: string; percent?: boolean }
  | { kind: "text"; text: string }
  /** Digits with their base: `2516_8`. */
  | { kind: "based"; digits: string; base: string }
  /**
   * `join`: how the items were separated; inequalities joined by "or" mean a union, by "and" an intersection.
   * `groups`: the same items where semicolons separate points: `x=1, y=2; x=3, y=4`.
   */
  | { kind: "list"; items: MathValue[]; join: "comma" | "and" | "or"; groups?: MathValue[] }
  | { kind: "set"; items: MathValue[] }
  /** Two items with round or square brackets may be a point or an interval: the other side decides. */
  | { kind: "tuple"; items: MathValue[]; open: "(" | "["; close: ")" | "]"; ratio?: boolean }
  | { kind: "matrix"; rows: MathValue[][] }
  | { kind: "operation"; operator: "union" | "intersection" | "difference"; parts: MathValue[] }
  | { kind: "relation"; operators: Operator[]; sides: MathValue[] }
);

export type Operator = "=" | "<" | ">" | "<=" | ">=" | "!=" | "in" | "mod";

export function parseMath(text: string): MathValue {
  return parse(cleanLatex(text));
}

function parse(input: string): MathValue {
  const source = unwrap(input.trim());
  const onlyText = /^\\text\s*\{([^{}]*)\}\.?$/.exec(source);
  if (onlyText && /^[-+]?[\d.,/\s]+$/.test(onlyText[1]!)) return parse(onlyText[1]!);
  if (onlyText) return plainText(onlyText[1]!, source);
  const framed =
    /^[([|]\s*(\\begin\{(?:array|matrix|smallmatrix)\}[\s\S]*\\end\{(?:array|matrix|smallmatrix)\})\s*[)\]|]$/.exec(
      source,
    );
  if (framed && framed[1]!.split("\\begin{").length === 2) return { ...parse(framed[1]!), source };
  const environment = /^\\begin\{([a-zA-Z]*?)(?:\*)?\}(?:\{[^}]*\})?([\s\S]*)\\end\{\1\*?\}$/.exec(source);
  if (environment && !environment[2]!.includes("\\begin{"))
    return parseEnvironment(environment[1]!, environment[2]!, source);

  const outward = /^([\][])([^[\]()]*)([\][])$/.exec(source);
  // Open ends written as outward brackets: `]1,2[`.
  if (outward && (outward[1] === "]" || outward[3] === "[")) {
    return tuple(outward[2]!, outward[1] === "[" ? "[" : "(", outward[3] === "]" ? "]" : ")", source);
  }
  for (const [join, pattern] of joins) {
    const parts = split(source, pattern);
    if (parts.length > 1) return list(parts, join, source);
  }
  const relation = parseRelation(source);
  if (relation) return relation;
  for (const [operator, pattern] of setOperators) {
    const parts = split(source, pattern);
    if (parts.length > 1 && parts.every((part) => part.trim() !== ""))
      return { kind: "operation", operator, parts: parts.map(parse), source };
  }
  const cells = matrixCells(source);
  if (cells) return { kind: "matrix", rows: cells.map((row) => row.map(parse)), source };
  const structured = parseBrackets(source);
  if (structured) return structured;
  if (/\\[pm][pm](?![a-zA-Z])/.test(source)) {
    const plus = source.replace(/\\pm(?![a-zA-Z])/g, "+").replace(/\\mp(?![a-zA-Z])/g, "-");
    const minus = source.replace(/\\pm(?![a-zA-Z])/g, "-").replace(/\\mp(?![a-zA-Z])/g, "+");
    return { kind: "list", items: [parse(plus.replace(/^\s*\+/, "")), parse(minus)], join: "or", source };
  }
  return parseLeaf(source);
}

const joins: ["comma" | "and" | "or", RegExp][] = [
  ["or", /^\\text\{\s*or\s*\}|^\\(?:lor|vee)(?![a-zA-Z])|^(?<![a-zA-Z])or(?![a-zA-Z])/],
  ["and", /^\\text\{\s*and\s*\}|^\\(?:land|wedge)(?![a-zA-Z])|^(?<![a-zA-Z])and(?![a-zA-Z])/],
  ["comma", /^[,;]|^\\\\/],
];

const setOperators: ["union" | "intersection" | "difference", RegExp][] = [
  ["union", /^\\cup(?![a-zA-Z])/],
  ["intersection", /^\\cap(?![a-zA-Z])/],
  ["difference", /^\\setminus(?![a-zA-Z])/],
];

/** Splits at separators that are outside every bracket. Any closing bracket closes any opening one: `[1,2)`. */
export function split(text: string, separator: RegExp): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; ) {
    if (depth === 0) {
      const before = text[i - 1] ?? " ";
      const match = /[a-zA-Z]/.test(text[i]!) && /[a-zA-Z\\]/.test(before) ? null : separator.exec(text.slice(i));
      if (match && match[0] !== "") {
        parts.push(text.slice(start, i));
        i += match[0].length;
        start = i;
        continue;
      }
    }
    const [token] = /^\\(?:[a-zA-Z]+|.)|^[\s\S]/.exec(text.slice(i))!;
    if (/^(?:[([{]|\\\{|\\langle|\\lfloor|\\lceil|\\begin)$/.test(token)) depth++;
    else if (/^(?:[)\]}]|\\\}|\\rangle|\\rfloor|\\rceil|\\end)$/.test(token)) depth = Math.max(0, depth - 1);
    i += token.length;
  }
  parts.push(text.slice(start));
  return parts;
}

/** Drops braces and brackets that enclose the whole text and nothing but one thing. */
function unwrap(text: string): string {
  while (text.startsWith("{") && text.endsWith("}") && enclosing(text)) text = text.slice(1, -1).trim();
  return text;
}

/** Whether the first bracket is closed by the last. */
function enclosing(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; ) {
    const [token] = /^\\(?:[a-zA-Z]+|.)|^[\s\S]/.exec(text.slice(i))!;
    if (/^(?:[([{]|\\\{|\\langle)$/.test(token)) depth++;
    else if (/^(?:[)\]}]|\\\}|\\rangle)$/.test(token)) depth--;
    i += token.length;
    if (depth === 0 && i < text.length) return false;
  }
  return depth === 0;
}

function plainText(text: string, source: string): MathValue {
  return { kind: "text", text: text.trim(), source };
}

function list(parts: string[], join: "comma" | "and" | "or", source: string): MathValue {
  const items = parts
    .map((part) => part.trim())
    .filter((part, _, all) => part !== "" && !/^\\text\{\s*\}$/.test(part) && !aboutCounter(part, all));
  if (items.length === 1) return parse(items[0]!);
  // "1, 2 and 3": inner lists of the other separator belong to the same list.
  const flat = items.map(parse).flatMap((item) => (item.kind === "list" ? item.items : [item]));
  return { kind: "list", items: flat, join, groups: grouped(source), source };
}

/** `k \in \mathbb{Z}` beside `\pi + 2k\pi`: it says what the counter runs over and is not an answer of its own. */
function aboutCounter(part: string, all: string[]): boolean {
  const [, name] = /^\(?\s*([a-zA-Z])\s*\\in\s*\\mathbb\{[ZN]\}[^\s,]*\s*\)?$/.exec(part) ?? [];
  return (
    name !== undefined &&
    all.some((other) => other !== part && new RegExp(`(?<![a-zA-Z\\\\])[\\da-z]*${name}`).test(other))
  );
}

function grouped(source: string): MathValue[] | undefined {
  const groups = split(source, /^;/).filter((part) => part.trim() !== "");
  const points = groups.map((part) => split(part, /^,/).map((item) => item.trim()));
  if (groups.length < 2 || points.some((items) => items.length < 2 || items.length !== points[0]!.length))
    return undefined;
  return points.map((items, i) => ({
    kind: "tuple",
    items: items.map(parse),
    open: "(",
    close: ")",
    source: groups[i]!,
  }));
}

function parseEnvironment(name: string, body: string, source: string): MathValue {
  const rows = body
    .split(/\\\\(?:\[[^\]]*\])?/)
    .map((row) => row.replace(/\\hline/g, "").trim())
    .filter((row) => row !== "");
  if (/cases/.test(name))
    return {
      kind: "list",
      items: rows.map((row) => parse(row.replace(/&/g, " ").replace(/[,;.]\s*$/, ""))),
      join: "and",
      source,
    };
  const cells = rows.map((row) => split(row, /^&/));
  if (/^v/.test(name) && cells.every((row) => row.length === cells.length) && cells.length <= 5) {
    return { kind: "expression", latex: determinant(cells), source };
  }
  return { kind: "matrix", rows: cells.map((row) => row.map(parse)), source };
}

/** The determinant as a formula, expanded along the first row. */
function determinant(cells: string[][]): string {
  if (cells.length === 1) return `(${cells[0]![0]})`;
  const minor = (without: number) => cells.slice(1).map((row) => row.filter((_, column) => column !== without));
  return cells[0]!.map((cell, column) => `${column % 2 ? "-" : "+"}(${cell})(${determinant(minor(column))})`).join("");
}

const relationSign =
  /^(?:\\le(?![a-zA-Z])|\\ge(?![a-zA-Z])|\\ne(?![a-zA-Z])|\\in(?![a-zA-Z])|\\(?:equiv|cong)(?![a-zA-Z])|\\(?:to|rightarrow|mapsto|implies|Rightarrow)(?![a-zA-Z])|<|>|:?=)/;
const operatorOf: Record<string, Operator> = {
  "\\le": "<=",
  "\\ge": ">=",
  "\\ne": "!=",
  "\\in": "in",
  "<": "<",
  ">": ">",
  "\\equiv": "mod",
  "\\cong": "mod",
};

function parseRelation(source: string): MathValue | undefined {
  const parts = split(source, relationSign);
  if (parts.length < 2) return undefined;
  let rest = source;
  const operators: Operator[] = [];
  for (const part of parts.slice(0, -1)) {
    const [sign] = relationSign.exec(rest.slice(part.length))!;
    operators.push(operatorOf[sign] ?? "=");
    rest = rest.slice(part.length + sign.length);
  }
  // `= 5`, `\approx 3`: the left side is the question's.
  if (parts[0]!.trim() === "" && parts.length === 2) return parse(parts[1]!);
  if (parts.some((part) => part.trim() === ""))
    return parse(parts.filter((part) => part.trim() !== "").at(-1) ?? "\\text{}");
  return { kind: "relation", operators, sides: parts.map(parse), source };
}

function parseBrackets(source: string): MathValue | undefined {
  const set = /^\\\{([\s\S]*)\\\}$/.exec(source);
  if (set && enclosing(source)) return parseSet(set[1]!, source);
  const angle = /^(?:\\langle|<)([\s\S]*)(?:\\rangle|>)$/.exec(source);
  if (angle) return { kind: "tuple", items: split(angle[1]!, /^,/).map(parse), open: "(", close: ")", source };
  const bracket = /^([([])([\s\S]*)([)\]])$/.exec(source);
  if (!bracket || !enclosing(source)) return undefined;
  const [, open, inner, close] = bracket as unknown as [string, "(" | "[", string, ")" | "]"];
  if (split(inner, /^[,;]/).length > 1) return tuple(inner, open, close, source);
  return open === "(" && close === ")" ? parse(inner) : undefined;
}

function tuple(inner: string, open: "(" | "[", close: ")" | "]", source: string): MathValue {
  return { kind: "tuple", items: split(inner, /^[,;]/).map(parse), open, close, source };
}

function parseSet(inner: string, source: string): MathValue {
  if (inner.trim() === "") return { kind: "set", items: [], source };
  const builder = split(inner, /^(?:\||:(?!=))/);
  // A set of all x with a condition is what the condition says; bars inside it (absolute values) are not separators.
  if (builder.length >= 2 && /[=<>]|\\(?:le|ge|ne|in)(?![a-zA-Z])/.test(builder.slice(1).join("|")))
    return parse(inner.slice(builder[0]!.length + 1));
  const inside = parse(inner);
  return { kind: "set", items: inside.kind === "list" ? inside.items : [inside], source };
}

function parseLeaf(source: string): MathValue {
  const based = /^\(?([\dA-Fa-f]+(?:\.[\dA-Fa-f]+)?)\)?_\s*\{?\s*(\d+|\\text\{[a-z]+\})\s*\}?$/.exec(source);
  if (based && /\d/.test(based[1]!)) return { kind: "based", digits: based[1]!.toUpperCase(), base: based[2]!, source };
  const percent = /^([\s\S]*?)\s*\\%$/.exec(source);
  if (percent) return { kind: "expression", latex: percent[1]!, percent: true, source };
  const ratio = split(source, /^:|^ to (?=[\d\\])/);
  if (ratio.length === 2 && ratio.every((part) => part.trim() !== ""))
    return { kind: "expression", latex: `\\frac{${ratio[0]}}{${ratio[1]}}`, source };
  if (ratio.length > 2) return { kind: "tuple", items: ratio.map(parse), open: "(", close: ")", ratio: true, source };
  if (/\\text\s*\{/.test(source) && !/\d/.test(source))
    return plainText(source.replace(/\\text\s*\{([^{}]*)\}/g, "$1"), source);
  // Four letters or more without any sign of a formula: a word.
  if (/^[A-Za-z][a-z']{3,}(?:[ -][A-Za-z][a-z']*)*[.!]?$/.test(source)) return plainText(source, source);
  if (/^(?:no|the|all|none)(?: [a-z]+)+[.!]?$/i.test(source)) return plainText(source, source);
  return { kind: "expression", latex: repeating(source), source };
}

/** `0.\dot{3}`, `0.1(6)` and `0.333...` as repeating decimals. */
function repeating(latex: string): string {
  return latex
    .replace(
      /(\d\.\d*)\\dot\{?(\d)\}?(?:(\d*)\\dot\{?(\d)\}?)?/g,
      (_, head: string, first: string, middle = "", last = "") => `${head}\\overline{${first}${middle}${last}}`,
    )
    .replace(/(\d\.\d*)\((\d+)\)/g, "$1\\overline{$2}")
    .replace(/(\d\.\d{0,20}?)(\d{1,12}?)\2{2,40}(?:\.\.\.|\\[lcd]*dots)/g, "$1\\overline{$2}");
}
