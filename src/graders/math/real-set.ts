/**
 * Sets of real numbers as sorted disjoint intervals, so that intervals, unions, finite sets, inequalities and
 * "all x except 3" are compared by what they contain, not by how they are written.
 */
import { nearReal, realValue, squeeze } from "./equal-expressions.ts";
import { type Calculator, freeSymbols, parseExpression, valueAt } from "./expression.ts";
import type { MathValue, Operator } from "./parse-math.ts";

/** From `low` to `high`; a point is an interval closed at both ends with `low = high`. */
export interface Interval {
  low: number;
  high: number;
  lowClosed: boolean;
  highClosed: boolean;
}

const everything: Interval[] = [{ low: -Infinity, high: Infinity, lowClosed: false, highClosed: false }];

/** The set that a value describes, or undefined where it describes none (or has symbols in it). */
export function realSet(calculator: Calculator, value: MathValue): Interval[] | undefined {
  if (value.kind === "expression") {
    const text = squeeze(value.latex);
    if (/^\\mathbb\{R\}$|^R$/.test(text)) return everything;
    if (text === "\\emptyset") return [];
    return undefined;
  }
  if (value.kind === "text") {
    const text = value.text.toLowerCase();
    if (/^(?:all )?real numbers$|^all reals?$/.test(text)) return everything;
    return /^(?:empty set|no (?:real )?solutions?|the empty set)$/.test(text) ? [] : undefined;
  }
  if (value.kind === "tuple") return interval(calculator, value);
  if (value.kind === "set") return points(calculator, value.items);
  if (value.kind === "operation") {
    const parts = value.parts.map((part) => realSet(calculator, part));
    if (parts.some((part) => part === undefined)) return undefined;
    return (parts as Interval[][]).reduce((a, b) =>
      value.operator === "union"
        ? union(a.concat(b))
        : intersect(a, value.operator === "intersection" ? b : complement(b)),
    );
  }
  if (value.kind === "relation") return solved(calculator, value.operators, value.sides);
  if (
    value.kind === "list" &&
    value.items.every((item) => item.kind === "relation" && item.operators.some((operator) => operator !== "="))
  ) {
    return joined(calculator, value);
  }
  if (
    value.kind === "list" &&
    value.items.every(
      (item) => item.kind === "tuple" && (item.open === "[" || item.close === "]" || /infty/.test(item.source)),
    )
  ) {
    const parts = value.items.map((item) => realSet(calculator, item));
    return parts.some((part) => part === undefined) ? undefined : union((parts as Interval[][]).flat());
  }
  return undefined;
}

function interval(calculator: Calculator, value: MathValue & { kind: "tuple" }): Interval[] | undefined {
  if (value.items.length !== 2) return undefined;
  const [low, high] = value.items.map((item) =>
    item.kind === "expression" ? realValue(calculator, item.latex) : undefined,
  );
  if (low === undefined || high === undefined || !(low < high)) return undefined;
  const lowClosed = value.open === "[" && low !== -Infinity;
  return [{ low, high, lowClosed, highClosed: value.close === "]" && high !== Infinity }];
}

function points(calculator: Calculator, items: MathValue[]): Interval[] | undefined {
  const values = items.map((item) => (item.kind === "expression" ? realValue(calculator, item.latex) : undefined));
  if (values.some((value) => value === undefined)) return undefined;
  return union((values as number[]).map((at) => ({ low: at, high: at, lowClosed: true, highClosed: true })));
}

/** An inequality solved for one variable: `x > 2`, `1 < x \le 3`, `x \ne 0`, `x \in …`. */
function solved(calculator: Calculator, operators: Operator[], sides: MathValue[]): Interval[] | undefined {
  if (operators.length === 1 && operators[0] === "in") return realSet(calculator, sides[1]!);
  const distance = withinDistance(calculator, operators, sides);
  if (distance) return distance;
  const at = sides.findIndex(isVariable);
  if (
    at < 0 ||
    operators.every((operator) => operator === "=") ||
    operators.includes("in") ||
    operators.includes("mod")
  )
    return undefined;
  let result = everything;
  for (const [i, operator] of operators.entries()) {
    if (i !== at && i !== at - 1) return undefined;
    const bound = sides[i === at ? i + 1 : i]!;
    const value = bound.kind === "expression" ? realValue(calculator, bound.latex) : undefined;
    if (value === undefined) return undefined;
    result = intersect(result, ray(i === at ? operator : flip(operator), value));
  }
  return result;
}

/** `|x - c| < r`, `a \le |x| < b` and their like. */
function withinDistance(calculator: Calculator, operators: Operator[], sides: MathValue[]): Interval[] | undefined {
  const at = sides.findIndex((side) => side.kind === "expression" && distanceFrom.test(side.latex.trim()));
  const middle = sides[at];
  if (middle?.kind !== "expression" || operators.some((operator) => !/^[<>]=?$/.test(operator))) return undefined;
  const [, , sign, offset] = distanceFrom.exec(middle.latex.trim())!;
  const size = offset === undefined ? 0 : realValue(calculator, offset);
  if (size === undefined) return undefined;
  const center = sign === "+" ? -size : size;
  let result = everything;
  for (const [i, operator] of operators.entries()) {
    if (i !== at && i !== at - 1) return undefined;
    const bound = sides[i === at ? i + 1 : i]!;
    const radius = bound.kind === "expression" ? realValue(calculator, bound.latex) : undefined;
    if (radius === undefined || radius < 0) return undefined;
    const seen = i === at ? operator : flip(operator);
    const [above, below] = [ray(seen, center + radius), ray(flip(seen), center - radius)];
    result = intersect(result, seen.startsWith("<") ? intersect(above, below) : union(above.concat(below)));
  }
  return result;
}

const distanceFrom = /^\|\s*([a-zA-Z])\s*(?:([-+])([^|]+))?\|$/;

/**
 * A chain of inequalities around a formula that is linear in its one variable: `2 < 2x - 1 < 5`. For golds only: an answer
 * has to be solved.
 */
export function linearSet(calculator: Calculator, value: MathValue): Interval[] | undefined {
  if (value.kind !== "relation" || value.operators.some((operator) => !/^[<>]=?$/.test(operator))) return undefined;
  const at = value.sides.findIndex(
    (side) => side.kind === "expression" && realValue(calculator, side.latex) === undefined,
  );
  const line = value.sides[at]?.kind === "expression" ? linear(calculator, value.sides[at].latex) : undefined;
  if (!line) return undefined;
  let result = everything;
  for (const [i, operator] of value.operators.entries()) {
    const ends = [value.sides[i]!, value.sides[i + 1]!].map((side) =>
      side.kind === "expression" ? realValue(calculator, side.latex) : undefined,
    );
    if (i !== at && i !== at - 1) {
      if (ends[0] === undefined || ends[1] === undefined || !holds(ends[0], operator, ends[1])) return undefined;
      continue;
    }
    const bound = i === at ? ends[1] : ends[0];
    if (bound === undefined) return undefined;
    const seen = i === at ? operator : flip(operator);
    result = intersect(result, ray(line.slope > 0 ? seen : flip(seen), (bound - line.start) / line.slope));
  }
  return result;
}

/** `start + slope * x`, where the formula is that. */
function linear(calculator: Calculator, latex: string): { start: number; slope: number } | undefined {
  const json = parseExpression(calculator, latex);
  const [name, ...others] = json === undefined ? [] : freeSymbols(json);
  if (json === undefined || name === undefined || others.length > 0) return undefined;
  const [start, one, three] = [0, 1, 3].map((x) => valueAt(calculator, json, new Map([[name, x]]))?.re ?? Number.NaN);
  const slope = one! - start!;
  return slope !== 0 && nearReal(three!, start! + 3 * slope) ? { start: start!, slope } : undefined;
}

function holds(a: number, operator: Operator, b: number): boolean {
  return operator === "<" ? a < b : operator === "<=" ? a <= b : operator === ">" ? a > b : a >= b;
}

/** Several inequalities: "or" is a union, "and" an intersection; commas mean whichever leaves something out. */
function joined(calculator: Calculator, value: MathValue & { kind: "list" }): Interval[] | undefined {
  const parts = value.items.map((item) => realSet(calculator, item));
  if (parts.some((part) => part === undefined)) return undefined;
  const variables = new Set(
    value.items.flatMap((item) =>
      item.kind === "relation" ? item.sides.filter(isVariable).map((side) => squeeze(side.source)) : [],
    ),
  );
  if (variables.size > 1) return undefined;
  const either = union((parts as Interval[][]).flat());
  const both = (parts as Interval[][]).reduce(intersect);
  const excludes = value.items.some((item) => item.kind === "relation" && item.operators.includes("!="));
  if (value.join === "or") return either;
  if (value.join === "and") return both.length === 0 ? either : both;
  return excludes || sameSet(either, everything) ? both : either;
}

function isVariable(value: MathValue): boolean {
  return (
    value.kind === "expression" &&
    /^(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_\{?\w+\}?)?$/.test(squeeze(value.latex)) &&
    !/^(?:\\pi|\\infty|e|i|\\emptyset)$/.test(squeeze(value.latex))
  );
}

/** The operator read from the other side. */
export function flip(operator: Operator): Operator {
  return ({ "<": ">", ">": "<", "<=": ">=", ">=": "<=" } as Partial<Record<Operator, Operator>>)[operator] ?? operator;
}

function ray(operator: Operator, value: number): Interval[] {
  const below = { low: -Infinity, high: value, lowClosed: false, highClosed: operator === "<=" };
  const above = { low: value, high: Infinity, lowClosed: operator === ">=", highClosed: false };
  if (operator === "=") return [{ low: value, high: value, lowClosed: true, highClosed: true }];
  if (operator === "!=") return [below, above];
  return operator === "<" || operator === "<=" ? [below] : [above];
}

function union(intervals: Interval[]): Interval[] {
  const sorted = intervals.toSorted((a, b) => a.low - b.low || Number(b.lowClosed) - Number(a.lowClosed));
  const result: Interval[] = [];
  for (const next of sorted) {
    const last = result.at(-1);
    const touches =
      last && (next.low < last.high || (nearReal(next.low, last.high) && (next.lowClosed || last.highClosed)));
    if (!touches) result.push({ ...next });
    else if (next.high > last.high) Object.assign(last, { high: next.high, highClosed: next.highClosed });
    else if (next.high === last.high) last.highClosed ||= next.highClosed;
  }
  return result;
}

function complement(intervals: Interval[]): Interval[] {
  const result: Interval[] = [];
  let low = -Infinity;
  let lowClosed = false;
  for (const part of union(intervals)) {
    if (low < part.low)
      result.push({ low, lowClosed, high: part.low, highClosed: !part.lowClosed && part.low !== -Infinity });
    [low, lowClosed] = [part.high, !part.highClosed];
  }
  if (low < Infinity)
    result.push({ low, lowClosed: lowClosed && low !== -Infinity, high: Infinity, highClosed: false });
  return result;
}

function intersect(a: Interval[], b: Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const x of a) {
    for (const y of b) {
      const low = Math.max(x.low, y.low);
      const high = Math.min(x.high, y.high);
      const lowClosed = (x.low < low || x.lowClosed) && (y.low < low || y.lowClosed);
      const highClosed = (x.high > high || x.highClosed) && (y.high > high || y.highClosed);
      if (low < high || (low === high && lowClosed && highClosed)) result.push({ low, high, lowClosed, highClosed });
    }
  }
  return union(result);
}

/** Whether two sets contain the same numbers. */
export function sameSet(a: Interval[], b: Interval[]): boolean {
  return (
    a.length === b.length &&
    a.every((x, i) => {
      const y = b[i]!;
      return (
        nearReal(x.low, y.low) &&
        nearReal(x.high, y.high) &&
        x.lowClosed === y.lowClosed &&
        x.highClosed === y.highClosed
      );
    })
  );
}
