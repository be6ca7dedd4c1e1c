/** Sums, differences, products, multiples, powers and transposes of matrices, worked out cell by cell as formulas. */
import { closingBrace } from "./text-spans.ts";

type Cells = string[][];

const opening = /\\begin\{[bp]?matrix\}/;
const largest = 8;

/** The cells that a formula of matrices comes to, or undefined where it is not one. */
export function matrixCells(source: string): Cells | undefined {
  if (!opening.test(source)) return undefined;
  let sum: Cells | undefined;
  for (const { sign, text } of termsOf(source)) {
    const term = termCells(text);
    if (!term) return undefined;
    const signed = sign === "-" ? scaled(term, "-1") : term;
    if (sum && (sum.length !== signed.length || sum[0]!.length !== signed[0]!.length)) return undefined;
    sum = sum ? sum.map((row, i) => row.map((cell, j) => `${cell}+(${signed[i]![j]})`)) : signed;
  }
  return sum;
}

/** The terms of a sum with their signs; signs inside brackets, braces and environments belong to their term. */
function termsOf(source: string): { sign: string; text: string }[] {
  const terms: { sign: string; text: string }[] = [];
  let depth = 0;
  let [sign, start] = ["+", 0];
  for (const match of source.matchAll(/\\(?:begin|end)(?![a-zA-Z])|\\.|[{}()[\]]|[-+]/gs)) {
    const token = match[0];
    if (/^(?:[{([]|\\begin)$/.test(token)) depth++;
    else if (/^(?:[})\]]|\\end)$/.test(token)) depth--;
    else if (/^[-+]$/.test(token) && depth === 0) {
      const text = source.slice(start, match.index).trim();
      if (text !== "") terms.push({ sign, text });
      [sign, start] = [token, match.index + 1];
    }
  }
  return [...terms, { sign, text: source.slice(start).trim() }];
}

/** A product: scalars and matrices side by side. */
function termCells(text: string): Cells | undefined {
  const divided = /^\\frac\s*\{(\s*\\begin[\s\S]*\})\s*\}\s*\{([^{}]*)\}$/.exec(text);
  if (divided) {
    const cells = termCells(divided[1]!.trim());
    return cells && scaled(cells, `\\frac{1}{${divided[2]}}`);
  }
  let factor = "";
  let product: Cells | undefined;
  let rest = text;
  while (rest.trim() !== "") {
    const at = rest.search(opening);
    const scalar = (at < 0 ? rest : rest.slice(0, at))
      .replace(/^\s*\\(?:cdot|times)\s*|\s*\\(?:cdot|times)\s*$/g, "")
      .trim();
    if (scalar !== "") factor += `(${scalar})`;
    if (at < 0) break;
    const name = /\{([a-z]+)\}/.exec(rest.slice(at))![1]!;
    const end = rest.indexOf(`\\end{${name}}`, at);
    if (end < 0) return undefined;
    const body = rest.slice(at + `\\begin{${name}}`.length, end);
    const [power, length] = powerAfter(rest.slice(end + name.length + 6));
    const matrix = raised(cellsOf(body), power);
    product = product && matrix ? multiplied(product, matrix) : product === undefined ? matrix : undefined;
    if (!product) return undefined;
    rest = rest.slice(end + name.length + 6 + length);
  }
  return product && factor !== "" ? scaled(product, factor) : product;
}

function cellsOf(body: string): Cells {
  return body
    .split(/\\\\(?:\[[^\]]*\])?/)
    .map((row) => row.replace(/\\hline/g, "").trim())
    .filter((row) => row !== "")
    .map((row) => row.split("&").map((cell) => cell.trim()));
}

/** The exponent after a matrix, and how many characters it takes. */
function powerAfter(text: string): [string, number] {
  const start = /^\s*\^\s*/.exec(text)?.[0];
  if (start === undefined) return ["1", 0];
  if (text[start.length] === "{") {
    const end = closingBrace(text, start.length);
    return end < 0 ? ["?", 0] : [text.slice(start.length + 1, end).trim(), end + 1];
  }
  const [token] = /^\\[a-zA-Z]+|^./.exec(text.slice(start.length)) ?? ["?"];
  return [token, start.length + token.length];
}

function raised(cells: Cells, power: string): Cells | undefined {
  if (cells.length > largest || cells.some((row) => row.length !== cells[0]!.length || row.length > largest))
    return undefined;
  if (/^(?:T|t|\\top|\\intercal|\\text\{T\}|\\mathrm\{T\})$/.test(power))
    return cells[0]!.map((_, j) => cells.map((row) => row[j]!));
  if (!/^[1-4]$/.test(power)) return undefined;
  let result: Cells | undefined = cells;
  for (let i = 1; i < Number(power) && result; i++) result = multiplied(result, cells);
  return result;
}

function multiplied(a: Cells, b: Cells): Cells | undefined {
  if (a[0]!.length !== b.length) return undefined;
  return a.map((row) => b[0]!.map((_, j) => row.map((cell, k) => `(${cell})(${b[k]![j]})`).join("+")));
}

function scaled(cells: Cells, factor: string): Cells {
  return cells.map((row) => row.map((cell) => `(${factor})(${cell})`));
}
