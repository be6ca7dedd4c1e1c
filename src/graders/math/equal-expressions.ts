/** When two formulas, or two equations, are the same. Tolerances are defined here and nowhere else. */
import {
  boxed,
  type Calculator,
  freeSymbols,
  type Json,
  parseExpression,
  samplePoints,
  type Value,
  valueAt,
  wantsWholeNumbers,
} from "./expression.ts";

/** Whether two formulas in LaTeX have the same value, for all values of their variables. */
export function equalExpressions(calculator: Calculator, gold: string, answer: string): boolean {
  if (squeeze(gold) === squeeze(answer)) return true;
  const exact = wholeNumber(gold);
  const other = wholeNumber(answer);
  if (exact !== undefined && other !== undefined) return exact === other;
  const a = parseExpression(calculator, gold);
  const b = parseExpression(calculator, answer);
  if (a === undefined || b === undefined) return false;
  const names = new Set([...freeSymbols(a), ...freeSymbols(b)]);
  const decimal = hasDecimal(gold) || hasDecimal(answer);
  if (names.size === 0) return equalClosed(calculator, a, b, decimal);
  // Products of roots of negative numbers are real again, with a sign that depends on how they are written.
  const manyRoots = roots(a) > 1 || roots(b) > 1;
  let agreed = 0;
  for (const [round, point] of samplePoints(names, wantsWholeNumbers(a) || wantsWholeNumbers(b)).entries()) {
    const left = valueAt(calculator, a, point);
    const right = valueAt(calculator, b, point);
    if (left === undefined || right === undefined || !finite(left) || !finite(right)) continue;
    // Where variables are negative, roots and logarithms leave the real line and choose branches: not a difference.
    if (round >= 3 && (left.im !== 0 || right.im !== 0 || manyRoots)) continue;
    if (!near(left, right, decimal)) return false;
    agreed++;
  }
  return agreed >= 2;
}

function equalClosed(calculator: Calculator, a: Json, b: Json, decimal: boolean): boolean {
  const none = new Map<string, number>();
  const left = valueAt(calculator, a, none);
  const right = valueAt(calculator, b, none);
  if (left === undefined || right === undefined) return false;
  if (!finite(left) || !finite(right)) return left.re === right.re && left.im === right.im && !Number.isNaN(left.re);
  if (!near(left, right, decimal)) return false;
  // Past 15 digits doubles cannot tell neighbours apart; the engine's exact arithmetic can.
  if (!decimal && Math.abs(left.re) > 1e14) {
    try {
      const difference = boxed(calculator.engine, ["Subtract", a, b]).evaluate();
      return difference.is(0) || Math.abs((difference as { re: number }).re) < 1e-6;
    } catch {
      return true;
    }
  }
  return true;
}

/** Whether `gold = 0` and `answer = 0` say the same: their ratio is one constant. Returns the constant, or undefined. */
export function constantRatio(calculator: Calculator, gold: string, answer: string): number | undefined {
  const a = parseExpression(calculator, gold);
  const b = parseExpression(calculator, answer);
  if (a === undefined || b === undefined) return undefined;
  const names = new Set([...freeSymbols(a), ...freeSymbols(b)]);
  const ratios: Value[] = [];
  for (const point of samplePoints(names, wantsWholeNumbers(a) || wantsWholeNumbers(b))) {
    const left = valueAt(calculator, a, point);
    const right = valueAt(calculator, b, point);
    if (!left || !right || !finite(left) || !finite(right) || left.im !== 0 || right.im !== 0 || right.re === 0)
      continue;
    ratios.push({ re: left.re / right.re, im: 0 });
  }
  const first = ratios[0];
  if (!first || ratios.length < 2 || first.re === 0) return undefined;
  return ratios.every((ratio) => near(first, ratio, false)) ? first.re : undefined;
}

/** The real value of a formula without variables; infinities included. */
export function realValue(calculator: Calculator, latex: string): number | undefined {
  const text = squeeze(latex);
  if (/^\+?\\infty$/.test(text)) return Number.POSITIVE_INFINITY;
  if (text === "-\\infty") return Number.NEGATIVE_INFINITY;
  const json = parseExpression(calculator, latex);
  if (json === undefined || freeSymbols(json).size > 0) return undefined;
  const value = valueAt(calculator, json, new Map());
  return value && Math.abs(value.im) < 1e-12 ? value.re : undefined;
}

/** Six decimals where a decimal point took part, as graders of mathematics round; otherwise equal up to arithmetic. */
function near(a: Value, b: Value, decimal: boolean): boolean {
  const distance = Math.hypot(a.re - b.re, a.im - b.im);
  const size = Math.max(Math.hypot(a.re, a.im), Math.hypot(b.re, b.im));
  if (distance <= size * 1e-11 || distance < 1e-13) return true;
  return decimal && distance <= 1.0000001e-6 && distance <= size * 1e-5;
}

/** Whether two real numbers are the same endpoint. */
export function nearReal(a: number, b: number): boolean {
  return a === b || (Number.isFinite(a) && Number.isFinite(b) && near({ re: a, im: 0 }, { re: b, im: 0 }, true));
}

function roots(json: Json): number {
  return JSON.stringify(json).match(/"(?:Sqrt|Root)"|\["Power",[^[\]]*,\["(?:Divide|Rational)"/g)?.length ?? 0;
}

function finite(value: Value): boolean {
  return Number.isFinite(value.re) && Number.isFinite(value.im);
}

function hasDecimal(latex: string): boolean {
  return /\d\.\d|\.\d/.test(latex);
}

/** The text without spaces. */
export function squeeze(latex: string): string {
  return latex.replace(/\s+/g, "");
}

function wholeNumber(latex: string): bigint | undefined {
  const text = squeeze(latex);
  return /^[-+]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}
