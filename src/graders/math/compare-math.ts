/**
 * Whether an answer says the same as the gold. The two are not symmetric: the gold fixes what was asked, so an answer may
 * add a name (`x = 5` for 5) or leave one out, but may not replace a solved form by the equation it solves.
 */
import { constantRatio, equalExpressions, squeeze } from "./equal-expressions.ts";
import { type Calculator, freeSymbols, parseExpression } from "./expression.ts";
import type { MathValue } from "./parse-math.ts";
import { flip, linearSet, realSet, sameSet } from "./real-set.ts";

/** Whether `answer` is the same mathematical object as `gold`. */
export function sameMath(calculator: Calculator, gold: MathValue, answer: MathValue): boolean {
  if (squeeze(gold.source) === squeeze(answer.source)) return true;
  if (/^[a-z]{3,}$/i.test(gold.source) && gold.source.toLowerCase() === answer.source.toLowerCase()) return true;
  if (gold.kind === "text" || answer.kind === "text") return sameText(calculator, gold, answer);
  if (gold.kind === "based" || answer.kind === "based") return sameBased(gold, answer);
  if (gold.kind === "relation" && answer.kind === "relation") return sameRelation(calculator, gold, answer);
  const goldSet = realSet(calculator, gold) ?? linearSet(calculator, gold);
  const answerSet = goldSet && realSet(calculator, answer);
  // Points in the plane and open intervals look alike; equal ends mean equal in both readings.
  if (goldSet && answerSet) return sameSet(goldSet, answerSet);
  if (gold.kind === "relation") {
    const value = namedValue(calculator, gold) ?? stated(calculator, gold) ?? intervalOf(gold);
    return value !== undefined && sameMath(calculator, value, answer);
  }
  if (answer.kind === "relation") {
    const value =
      namedValue(calculator, answer) ??
      stated(calculator, answer) ??
      intervalOf(answer) ??
      identity(calculator, answer) ??
      lastSide(answer);
    return value !== undefined && sameMath(calculator, gold, value);
  }
  if (gold.kind === "matrix" || answer.kind === "matrix") return sameMatrix(calculator, gold, answer);
  if (isCollection(gold) || isCollection(answer)) return sameCollection(calculator, gold, answer);
  if (gold.kind === "expression" && answer.kind === "expression") return sameExpression(calculator, gold, answer);
  return false;
}

type Expression = MathValue & { kind: "expression" };
type Relation = MathValue & { kind: "relation" };

/** `50\%` means 50 or one half, whichever the other side uses. */
function sameExpression(calculator: Calculator, gold: Expression, answer: Expression): boolean {
  if (equalExpressions(calculator, gold.latex, answer.latex)) return true;
  if (gold.percent === answer.percent) return sameWithoutUnit(calculator, gold.latex, answer.latex);
  return gold.percent
    ? equalExpressions(calculator, `\\frac{${gold.latex}}{100}`, answer.latex)
    : equalExpressions(calculator, gold.latex, `\\frac{${answer.latex}}{100}`);
}

const units =
  /^(.*[\d)}])\s*(?:[kcmnμ]?m|[km]?g|[kmn]?s|ft|in|mi|yd|lb|oz|h|hr|hrs|min|sec|[mk]?l|mph|km\/h|m\/s|cm\/s|kw|[kM]?W|[kM]?J|[kM]?Hz|V|A|N|Pa|K)(?:\^\{?[23]\}?)?$/i;

/** `5 m` for 5, where the gold has no variables and so the letters can only be a unit. */
function sameWithoutUnit(calculator: Calculator, gold: string, answer: string): boolean {
  const strip = (latex: string) => units.exec(latex.trim())?.[1];
  const [goldNumber, answerNumber] = [strip(gold), strip(answer)];
  if (goldNumber === undefined && answerNumber === undefined) return false;
  if (goldNumber !== undefined && answerNumber !== undefined) return false;
  const [bare, other] = goldNumber === undefined ? [answerNumber!, gold] : [goldNumber, answer];
  const json = parseExpression(calculator, other);
  return json !== undefined && freeSymbols(json).size === 0 && equalExpressions(calculator, other, bare);
}

function sameBased(gold: MathValue, answer: MathValue): boolean {
  const read = (value: MathValue) =>
    value.kind === "based"
      ? { digits: value.digits, base: value.base }
      : { digits: squeeze(value.source).toUpperCase(), base: undefined };
  const [a, b] = [read(gold), read(answer)];
  return a.digits === b.digits && (a.base === undefined || b.base === undefined || a.base === b.base);
}

/** Words are compared without case, brackets and closing signs; a lone letter matches the choice `(C)`. */
function sameText(calculator: Calculator, gold: MathValue, answer: MathValue): boolean {
  const sets = [realSet(calculator, gold), realSet(calculator, answer)] as const;
  if (sets[0] && sets[1]) return sameSet(sets[0], sets[1]);
  const [a, b] = [words(gold), words(answer)];
  if (a === b) return a !== "";
  const letter = /^[a-z]$/.test(a);
  return letter && new RegExp(`^${a}(?:[.:)]|\\s)`).test(b);
}

function words(value: MathValue): string {
  const text = value.kind === "text" ? value.text : value.source;
  return text
    .replace(/\\text\s*\{([^{}]*)\}|\\[a-zA-Z]+\s*\{([^{}]*)\}/g, "$1$2")
    .toLowerCase()
    .replace(/[{}()[\]$"'`*]|\\[,;! ]/g, "")
    .replace(/[.!,;:\s]+$/g, "")
    .replace(/^(?:option|choice|answer)\s+/, "")
    .replace(/\s+/g, " ")
    .trim();
}

function isCollection(value: MathValue): boolean {
  return value.kind === "set" || value.kind === "tuple" || value.kind === "list";
}

function itemsOf(value: MathValue): MathValue[] {
  return value.kind === "set" || value.kind === "tuple" || value.kind === "list" ? value.items : [value];
}

function sameCollection(calculator: Calculator, gold: MathValue, answer: MathValue): boolean {
  const groups = gold.kind === "list" ? gold.groups : undefined;
  if (groups && itemsOf(answer).some((item) => item.kind === "tuple"))
    return sameUnordered(calculator, groups, itemsOf(answer));
  const a = flatten(itemsOf(gold));
  const b = flatten(itemsOf(answer));
  // Comparing without order takes the square of the length: longer lists must be equal as text.
  if (a.length > 200 || b.length > 200) return false;
  if (!isCollection(gold) || !isCollection(answer)) {
    const whole = isCollection(gold) ? gold : answer;
    return whole.kind !== "tuple" && sameUnordered(calculator, a, b);
  }
  if (gold.kind === "tuple" && answer.kind === "tuple" && gold.ratio && answer.ratio)
    return sameRatio(calculator, a, b);
  if (gold.kind === "tuple" && answer.kind === "tuple") {
    const pair = a.length === 2 && (gold.open !== answer.open || gold.close !== answer.close);
    return !pair && sameOrdered(calculator, a, b);
  }
  if (gold.kind === "tuple" || answer.kind === "tuple") {
    const other = gold.kind === "tuple" ? answer : gold;
    return other.kind === "list" && sameOrdered(calculator, a, b);
  }
  return sameUnordered(calculator, a, b);
}

/** `\{1\pm\sqrt5, -2\}`: what one item expands to belongs to the whole. */
function flatten(items: MathValue[]): MathValue[] {
  return items.flatMap((item) =>
    item.kind === "list"
      ? flatten(item.items)
      : item.kind === "relation" && item.sides.length === 2 && item.sides[1]!.kind === "list"
        ? item.sides[1]!.items
        : [item],
  );
}

/** `1:2:3` and `2:4:6`: every pair of parts has the same proportion. */
function sameRatio(calculator: Calculator, a: MathValue[], b: MathValue[]): boolean {
  const parts = (items: MathValue[]) =>
    items.flatMap((item) => (item.kind === "expression" ? [`(${item.latex})`] : []));
  const [x, y] = [parts(a), parts(b)];
  if (x.length !== a.length || y.length !== b.length || x.length !== y.length) return false;
  return x.every((part, i) => equalExpressions(calculator, `${part}${y[0]}`, `${y[i]}${x[0]}`));
}

function sameOrdered(calculator: Calculator, a: MathValue[], b: MathValue[]): boolean {
  return a.length === b.length && a.every((item, i) => sameMath(calculator, item, b[i]!));
}

/** Each gold item has its own partner among the answers, and none is left over; repeated items count once. */
function sameUnordered(calculator: Calculator, a: MathValue[], b: MathValue[]): boolean {
  const gold = distinct(calculator, a);
  const left = distinct(calculator, b);
  if (gold.length !== left.length) return false;
  for (const item of gold) {
    const at = left.findIndex((candidate) => sameMath(calculator, item, candidate));
    if (at < 0) return false;
    left.splice(at, 1);
  }
  return true;
}

function distinct(calculator: Calculator, items: MathValue[]): MathValue[] {
  const result: MathValue[] = [];
  for (const item of items) if (!result.some((kept) => sameMath(calculator, kept, item))) result.push(item);
  return result;
}

/** Matrices entry by entry; a single row or column also equals the tuple of its entries. */
function sameMatrix(calculator: Calculator, gold: MathValue, answer: MathValue): boolean {
  const rows = (value: MathValue) =>
    value.kind === "matrix"
      ? value.rows
      : value.kind === "tuple" || value.kind === "list"
        ? value.items.map(itemsOf)
        : undefined;
  const a = rows(gold);
  const b = rows(answer);
  if (!a || !b) return false;
  if (gold.kind !== answer.kind && (isVector(a) || isVector(b)))
    return isVector(a) && isVector(b) && sameOrdered(calculator, a.flat(), b.flat());
  return a.length === b.length && a.every((row, i) => sameOrdered(calculator, row, b[i]!));
}

function isVector(rows: MathValue[][]): boolean {
  return rows.length === 1 || rows.every((row) => row.length === 1);
}

/** The value of `name = value` (chains take the last side), where the left side is only a name: `x`, `f(2)`, `a_1`. */
function namedValue(calculator: Calculator, relation: Relation): MathValue | undefined {
  if (relation.operators.some((operator) => operator !== "=" && operator !== "in")) return undefined;
  const first = relation.sides[0]!;
  const last = relation.sides.at(-1)!;
  if (relation.operators.at(-1) === "in") return last;
  if (isName(first)) return last;
  const json = first.kind === "expression" ? parseExpression(calculator, first.latex) : undefined;
  if (json === undefined || freeSymbols(json).size > 0) return undefined;
  if (isName(last) && relation.sides.length === 2) return first;
  const result = last.kind === "expression" ? parseExpression(calculator, last.latex) : undefined;
  return result === undefined || freeSymbols(result).size === 0 ? last : undefined;
}

/** The value of `a + b = 6`: what was asked for is a combination of names, without numbers of its own. */
function stated(calculator: Calculator, relation: Relation): MathValue | undefined {
  if (relation.operators.some((operator) => operator !== "=")) return undefined;
  const [first, last] = [relation.sides[0]!, relation.sides.at(-1)!];
  if (first.kind !== "expression" || /\d/.test(first.latex.replace(/_\{?\w+\}?|\^\{?\d\}?/g, ""))) return undefined;
  const plainCombination = !/[\^\d]/.test(first.latex.replace(/_\{?\w+\}?/g, ""));
  if (plainCombination) return last;
  // An equation solved to zero states no value.
  if (squeeze(last.source) === "0") return undefined;
  const json = last.kind === "expression" ? parseExpression(calculator, last.latex) : undefined;
  return json !== undefined && freeSymbols(json).size === 0 ? last : undefined;
}

/** `a < x < b` and `x > a` as the intervals they are, also where the ends have names. */
function intervalOf({ operators, sides, source }: Relation): MathValue | undefined {
  const infinity = (latex: string): MathValue => ({ kind: "expression", latex, source: latex });
  const closed = (operator: string) => operator === "<=" || operator === ">=";
  const make = (low: MathValue, high: MathValue, lowClosed: boolean, highClosed: boolean): MathValue => ({
    kind: "tuple",
    items: [low, high],
    open: lowClosed ? "[" : "(",
    close: highClosed ? "]" : ")",
    source,
  });
  const up = operators.every((operator) => operator === "<" || operator === "<=");
  const down = operators.every((operator) => operator === ">" || operator === ">=");
  if (!up && !down) return undefined;
  const ordered = up ? sides : sides.toReversed();
  const signs = up ? operators : operators.toReversed();
  if (ordered.length === 3 && isName(ordered[1]!))
    return make(ordered[0]!, ordered[2]!, closed(signs[0]!), closed(signs[1]!));
  if (ordered.length !== 2) return undefined;
  // Of two names the one written first is the variable, the other its bound.
  const variable = sides.find(isName);
  if (variable === ordered[0]) return make(infinity("-\\infty"), ordered[1]!, false, closed(signs[0]!));
  return variable ? make(ordered[0]!, infinity("\\infty"), closed(signs[0]!), false) : undefined;
}

/**
 * The last side of any other equation, for a gold that is not one: `A + B = \begin{pmatrix}…\end{pmatrix}`, `2x = 10` where
 * 2x was asked. An equation solved to zero states no value.
 */
function lastSide(relation: Relation): MathValue | undefined {
  const last = relation.sides.at(-1)!;
  if (relation.operators.some((operator) => operator !== "=") || squeeze(last.source) === "0") return undefined;
  return last;
}

/** The last side of an equation that holds for all values of its variables: it is what the first side was worked out to. */
function identity(calculator: Calculator, relation: Relation): MathValue | undefined {
  const [first, last] = [relation.sides[0]!, relation.sides.at(-1)!];
  if (relation.operators.some((operator) => operator !== "=")) return undefined;
  if (first.kind !== "expression" || last.kind !== "expression") return undefined;
  return equalExpressions(calculator, first.latex, last.latex) ? last : undefined;
}

function isName(value: MathValue): boolean {
  if (value.kind === "text") return true;
  if (value.kind === "tuple") return value.items.every(isName);
  if (value.kind === "list" || value.kind === "set" || value.kind !== "expression") return false;
  const text = squeeze(value.latex);
  if (/^(?:\\pi|e|i|\\infty)$/.test(text)) return false;
  return (
    /^(?:\\(?:angle|triangle|overline|vec|hat|bar|Delta)\{?)?(?:[a-zA-Z]{1,3}|\\[a-zA-Z]+)\}?'*(?:_\{?[\w+\-,]+\}?)?(?:\^\{?(?:-1|\\prime)\}?)?(?:\([^()]*\))?$/.test(
      text,
    ) || /^\|(?:[A-Z]{2}|[a-z])\|$|^\\frac\{d[a-z]?\}\{d[a-z]\}\}?[a-z]?$/.test(text)
  );
}

/** Equations up to a constant factor; inequalities up to a factor that keeps or turns their sign. */
function sameRelation(calculator: Calculator, gold: Relation, answer: Relation): boolean {
  const solution = realSet(calculator, answer);
  const wanted = solution && (realSet(calculator, gold) ?? linearSet(calculator, gold));
  if (solution && wanted) return sameSet(wanted, solution);
  const isEquation = (relation: Relation) => relation.operators.every((operator) => operator === "=");
  if (isEquation(gold) && isEquation(answer)) return sameEquation(calculator, gold, answer);
  if (gold.operators.length !== answer.operators.length) return false;
  const forward = gold.operators.every((operator, i) => operator === answer.operators[i]);
  if (forward && sameOrdered(calculator, gold.sides, answer.sides)) return true;
  const turned = answer.operators.toReversed().map(flip);
  if (
    gold.operators.every((operator, i) => operator === turned[i]) &&
    sameOrdered(calculator, gold.sides, answer.sides.toReversed())
  )
    return true;
  if (gold.operators.length !== 1) return false;
  const ratio = constantRatio(calculator, difference(gold), difference(answer));
  if (ratio === undefined) return false;
  const operator = ratio > 0 ? answer.operators[0]! : flip(answer.operators[0]!);
  return operator === gold.operators[0];
}

function sameEquation(calculator: Calculator, gold: Relation, answer: Relation): boolean {
  const [goldFirst, goldLast] = [gold.sides[0]!, gold.sides.at(-1)!];
  const [first, last] = [answer.sides[0]!, answer.sides.at(-1)!];
  if (
    goldFirst.kind !== "expression" ||
    goldLast.kind !== "expression" ||
    first.kind !== "expression" ||
    last.kind !== "expression"
  ) {
    return sameMath(calculator, goldFirst, first) && sameMath(calculator, goldLast, last);
  }
  // Two definitions of the same function under different names: `f(x) = 2x` and `y = 2x`.
  if (sameFunction(goldFirst, first) && equalExpressions(calculator, goldLast.latex, last.latex)) {
    const json = parseExpression(calculator, goldLast.latex);
    if (json !== undefined && freeSymbols(json).size > 0) return true;
  }
  if (sameRoot(goldFirst, first) && equalExpressions(calculator, goldLast.latex, last.latex)) return true;
  return constantRatio(calculator, difference(gold), difference(answer)) !== undefined;
}

/** `x_1` and `x`: solutions may be counted or not. */
function sameRoot(gold: MathValue, answer: MathValue): boolean {
  const [a, b] = [squeeze(gold.source), squeeze(answer.source)];
  const root = (name: string) => /^([a-z])(?:_\{?\d\}?)?$/.exec(name)?.[1];
  return root(a) !== undefined && root(a) === root(b) && (a.length === 1) !== (b.length === 1);
}

/** Whether two names may mean one function: the same name, or `y` for `f(x)`. */
function sameFunction(gold: MathValue, answer: MathValue): boolean {
  if (!isName(gold) || !isName(answer)) return false;
  const [a, b] = [squeeze(gold.source), squeeze(answer.source)];
  const graph = (name: string) => /^y(?:\(.*\))?$/.test(name);
  return a === b || graph(a) !== graph(b);
}

function difference(relation: Relation): string {
  const latex = (value: MathValue) => (value.kind === "expression" ? value.latex : "\\text{none}");
  return `(${latex(relation.sides[0]!)})-(${latex(relation.sides.at(-1)!)})`;
}
