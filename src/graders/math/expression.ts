/**
 * One formula without structure (no sets, relations, lists): parsed by the Compute Engine, then compared by value. Two
 * closed formulas are equal when their values are, exactly where both are exact. Two formulas with variables are equal
 * when they agree at fixed sample points, which decides identities that rewriting rules miss. Variables are replaced by
 * numbers before the engine sees the formula as its own, so nothing is ever declared in it and grading one answer can't
 * change the next; work that hostile answers could make endless (towers of powers, giant factorials) is refused first.
 */
import type { ComputeEngine, ExpressionInput } from "@cortex-js/compute-engine";
import { loadPeer } from "../../base/work/optional-peer.ts";

/** A formula in MathJSON, as far as we look into it. */
export type Json = string | number | { num: string } | { str: string } | { sym: string } | { fn: Json[] } | Json[];

/** The engine, and how long it may still work on this answer. */
export interface Calculator {
  readonly engine: ComputeEngine;
  /** Processor time: no honest answer comes near it; answers made to take forever use it up and are then refused. */
  leftMs: number;
}

let loading: Promise<ComputeEngine> | undefined;

/** A calculator for one answer. The engine is loaded once, and only when needed: that takes a quarter of a second. */
export async function openCalculator(): Promise<Calculator> {
  loading ??= loadPeer("@cortex-js/compute-engine", () => import("@cortex-js/compute-engine")).then(
    (module) => new module.ComputeEngine(),
  );
  return { engine: await loading, leftMs: 3000 };
}

/** A parsed formula, or undefined where the text is not a formula. */
export function parseExpression(calculator: Calculator, latex: string): Json | undefined {
  const { engine } = calculator;
  // The parser tries every pairing of bars, which doubles with each one.
  if (latex.trim() === "" || latex.length > 1000 || (latex.match(/\|/g)?.length ?? 0) > 12) return undefined;
  if (depthOf(latex) > 30) return undefined;
  try {
    const json = engine.parse(latex, { form: "raw" }).json as Json;
    const text = JSON.stringify(json);
    if (text.includes('"Error"')) return undefined;
    return text.includes('["D",') ? plain(derived(engine, json)) : plain(json);
  } catch {
    return undefined;
  }
}

function depthOf(latex: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of latex) {
    if (character === "{" || character === "(") deepest = Math.max(deepest, ++depth);
    else if (character === "}" || character === ")") depth--;
  }
  return deepest;
}

export function boxed(engine: ComputeEngine, json: Json) {
  return engine.box(json as ExpressionInput);
}

/** A derivative has to be taken before its variable is replaced by numbers. */
function derived(engine: ComputeEngine, json: Json): Json {
  engine.pushScope();
  try {
    return boxed(engine, json).evaluate().json as Json;
  } finally {
    engine.popScope();
  }
}

const constants = new Set("Pi ExponentialE ImaginaryUnit PositiveInfinity NegativeInfinity ComplexInfinity".split(" "));
const series = new Set(["Sum", "Product"]);
const binders = new Set([...series, "Integrate", "Limit", "D"]);

/** Rewrites what parsing leaves open: invisible products, mixed numbers, brackets, and readings that graders don't mean. */
function plain(json: Json): Json {
  if (json === "e") return "ExponentialE";
  if (json === "i") return "ImaginaryUnit";
  if (json === "GoldenRatio") return "phi";
  if (!Array.isArray(json)) return json;
  const [head, ...rest] = json as [string, ...Json[]];
  const items = rest.map(plain);
  if (head === "Delimiter") return items[0] ?? "Nothing";
  if (head === "InvisibleOperator" || head === "Multiply") return product(items, rest);
  if (head === "Inverse") return ["Power", items[0]!, -1];
  if (head === "Transpose") return ["Power", items[0]!, "T"];
  if (head === "Mean") return ["Conjugate", items[0]!];
  if (head === "Prime") return `${JSON.stringify(items[0])}'`;
  if (head === "BaseForm" || head === "Angle") return JSON.stringify(json);
  if (head === "Subscript" && typeof rest[0] === "string") {
    const index = items[1]!;
    return [`call_${rest[0]}_`, ...(Array.isArray(index) && index[0] === "Sequence" ? index.slice(1) : [index])];
  }
  if (series.has(head)) return [head, ...items.map((item) => indexed(item, boundNames([head, ...items])))];
  if (head === "Apply" && Array.isArray(rest[0]) && rest[0][0] === "InverseFunction")
    return [`Arc${String(rest[0][1]).toLowerCase()}`, items[1]!];
  return [head, ...items];
}

/** `a_k` and `a_{2k}` under a sum over k: names to the parser, but terms of a sequence that depend on k. */
function indexed(json: Json, bound: readonly string[]): Json {
  if (Array.isArray(json)) return [json[0]!, ...json.slice(1).map((item) => indexed(item, bound))];
  const [, name, factor, letters] = (typeof json === "string" && /^([a-zA-Z]+)_(\d*)([a-zA-Z]{1,3})$/.exec(json)) || [];
  const index = letters === undefined ? [] : [...letters].map((letter) => plain(letter));
  if (!index.some((letter) => bound.includes(letter as string))) return json;
  return [`call_${name}_`, ...index.map((letter) => (factor ? ["Multiply", Number(factor), letter] : letter))];
}

/** Factors side by side: `5\frac12` is a mixed number, `f(x)` a call, anything else a product. */
function product(items: Json[], raw: Json[]): Json {
  const factors: Json[] = [];
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!;
    const next = items[i + 1];
    if (isWhole(item) && next !== undefined && isPositiveFraction(next)) {
      const sign = Array.isArray(item) && item[0] === "Negate" ? "Subtract" : "Add";
      factors.push([sign, item, next]);
      i++;
    } else if (
      typeof item === "string" &&
      /^[fghFGPp]$/.test(item) &&
      Array.isArray(raw[i + 1]) &&
      (raw[i + 1] as Json[])[0] === "Delimiter"
    ) {
      factors.push([`call_${item}`, next!]);
      i++;
    } else if (item === "Gamma" && next !== undefined) {
      factors.push(["Gamma", next]);
      i++;
    } else factors.push(item);
  }
  return factors.length === 1 ? factors[0]! : ["Multiply", ...factors];
}

function isWhole(json: Json): boolean {
  if (Array.isArray(json)) return json[0] === "Negate" && typeof json[1] === "number" && Number.isInteger(json[1]);
  return typeof json === "number" && Number.isInteger(json) && json !== 0;
}

function isPositiveFraction(json: Json): boolean {
  return (
    Array.isArray(json) &&
    (json[0] === "Divide" || json[0] === "Rational") &&
    json.slice(1).every((part) => typeof part === "number" && part > 0 && Number.isInteger(part))
  );
}

/** Names of the variables that a formula depends on. */
export function freeSymbols(json: Json, bound: readonly string[] = []): Set<string> {
  const names = new Set<string>();
  if (typeof json === "string") {
    if (!constants.has(json) && !bound.includes(json) && !json.startsWith("'")) names.add(json);
  } else if (Array.isArray(json)) {
    const inner = [...bound, ...boundNames(json)];
    for (const part of json.slice(1)) for (const name of freeSymbols(part, inner)) names.add(name);
  }
  return names;
}

function boundNames(json: Json[]): string[] {
  const [head, ...rest] = json;
  if (head === "Function") return rest.slice(1).filter((name) => typeof name === "string");
  if (!binders.has(head as string)) return [];
  const names = rest.flatMap((part) =>
    Array.isArray(part) && (part[0] === "Tuple" || part[0] === "Limits") ? [part[1]] : [],
  );
  if (head === "D" || head === "Integrate") names.push(...rest.slice(1));
  return names.filter((name): name is string => typeof name === "string");
}

/** A complex value; `exact` where no decimal point took part and the value is a whole number or fraction. */
export interface Value {
  re: number;
  im: number;
}

/** The formula's value with its variables replaced, or undefined where it has none or would take too long. */
export function valueAt(calculator: Calculator, json: Json, point: ReadonlyMap<string, number>): Value | undefined {
  const { engine } = calculator;
  if (calculator.leftMs <= 0) return undefined;
  const began = processorMs();
  const closed = substitute(engine, json, point, []);
  if (closed === undefined) return undefined;
  const closedValue = (limitMs: number): Value | undefined => {
    const asked = performance.now();
    engine.pushScope();
    try {
      const value = engine.withTimeLimit(limitMs, () => boxed(engine, closed).N());
      const { re, im } = value as { re: number; im: number };
      return Number.isNaN(re) || Number.isNaN(im) ? undefined : { re, im };
    } catch {
      const starved = performance.now() - asked >= limitMs && processorMs() - began < timeLimitMs / 2;
      return starved && limitMs < 100 * timeLimitMs ? closedValue(limitMs * 2) : undefined;
    } finally {
      engine.popScope();
    }
  };
  try {
    return closedValue(timeLimitMs);
  } finally {
    calculator.leftMs -= processorMs() - began;
  }
}

/**
 * Last resort behind the guards below. The engine counts it by the clock, so where a busy machine left the answer little
 * processor time it is asked again: load changes no verdict.
 */
const timeLimitMs = 4000;

/** Processor time of this thread: what an answer costs, whatever else the machine does. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const refused = Symbol("refused");

/** Replaces variables by numbers; undefined when the work asked for is out of proportion. */
function substitute(
  engine: ComputeEngine,
  json: Json,
  point: ReadonlyMap<string, number>,
  bound: string[],
): Json | undefined {
  let terms = 0;
  const walk = (part: Json, names: string[], at: ReadonlyMap<string, number>): Json => {
    if (typeof part === "string") {
      const value = at.get(part);
      if (value === undefined && (constants.has(part) || names.includes(part))) return part;
      return value ?? 0.5 + fraction(part);
    }
    if (!Array.isArray(part)) return part;
    const head = part[0] as string;
    if (series.has(head) && names.length === 0) {
      const written = writtenOut(engine, part, (item, values) => walk(item, names, new Map([...at, ...values])));
      terms += written?.length ?? 0;
      if (terms > mostTerms) throw refused;
      if (written) return [head === "Sum" ? "Add" : "Multiply", ...written];
      // Terms without a definition have no sum that the engine could come near.
      if (JSON.stringify(part).includes('"call_')) throw refused;
    }
    const inner = [...names, ...boundNames(part)];
    const items = part.slice(1).map((item) => walk(item, inner, at));
    if (binders.has(head)) guardRange(head, items);
    else if (inner.length === 0) guard(engine, head, items);
    if (head.startsWith("call_"))
      return 1 + fraction(`${head}(${JSON.stringify(items.map((item) => argument(engine, item, inner)))})`);
    return [head, ...items];
  };
  try {
    return walk(json, bound, point);
  } catch (reason) {
    if (reason === refused) return undefined;
    throw reason;
  }
}

const largest = new Map(Object.entries({ Power: 1e6, Factorial: 2000, Factorial2: 2000, Gamma: 2000, Binomial: 5000 }));

/** Refuses single operations whose result would not fit in reasonable time or space. */
function guard(engine: ComputeEngine, head: string, items: Json[]): void {
  const limit = largest.get(head);
  if (limit === undefined) return;
  for (const item of head === "Power" ? items.slice(1) : items) {
    const size = Math.abs(number(engine, item));
    if (!(size <= limit) && size !== Number.POSITIVE_INFINITY) throw refused;
    if (size === Number.POSITIVE_INFINITY && Array.isArray(item)) throw refused;
  }
}

const mostTerms = 2000;

/**
 * The terms of a sum or product that the engine can't run: of a sequence or function without a definition, or of other sums.
 * Undefined where it can, or where the bounds are not two whole numbers near each other.
 */
function writtenOut(
  engine: ComputeEngine,
  [, body, range, more]: Json[],
  value: (json: Json, values: Map<string, number>) => Json,
): Json[] | undefined {
  if (!Array.isArray(range) || range[0] !== "Tuple" || more !== undefined || typeof range[1] !== "string")
    return undefined;
  if (!/"call_|"(?:Sum|Product)"/.test(JSON.stringify(body))) return undefined;
  const name = range[1];
  const ends = [range[2], range[3]].map((end) =>
    end === undefined ? Number.NaN : (boxed(engine, value(end, new Map())).N() as { re: number }).re,
  );
  const [first, last] = ends as [number, number];
  if (!Number.isInteger(first) || !Number.isInteger(last) || last < first || last - first > 200) return undefined;
  return Array.from({ length: last - first + 1 }, (_, i) => value(body!, new Map([[name, first + i]])));
}

/** Sums are run term by term, so their length is bounded, and sums or integrals inside one another are not run. */
function guardRange(head: string, items: Json[]): void {
  if (/"(?:Sum|Product|Integrate|Limit)"/.test(JSON.stringify(items))) throw refused;
  if (!series.has(head)) return;
  if (!items.some((item) => Array.isArray(item) && (item[0] === "Tuple" || item[0] === "Limits"))) throw refused;
  for (const item of items) {
    if (Array.isArray(item) && item[0] === "Tuple" && typeof item[3] === "number" && item[3] > 5_000) throw refused;
  }
}

function number(engine: ComputeEngine, json: Json): number {
  if (typeof json === "number") return json;
  const { re, im } = boxed(engine, json).N() as { re: number; im: number };
  return Math.hypot(re, im || 0);
}

/** What a function is called with: the number, or, under an integral, the formula with its variable by position. */
function argument(engine: ComputeEngine, json: Json, bound: readonly string[]): string {
  if (bound.length === 0) return number(engine, json).toPrecision(9);
  return JSON.stringify(json, (_, value: unknown) =>
    typeof value === "string" && bound.includes(value) ? `#${bound.indexOf(value)}` : value,
  );
}

/** A fixed number in (0, 1) for a name, so that equal names get equal values. */
function fraction(name: string): number {
  let hash = 2166136261;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 16777619);
  return ((hash >>> 0) % 1_000_003) / 1_000_003;
}

/** Sample points: three with positive values, one with negative ones, one mixed. Whole numbers where sums or factorials ask for them. */
export function samplePoints(names: Iterable<string>, whole: boolean): Map<string, number>[] {
  const sorted = [...names].sort();
  return [0, 1, 2, 3, 4].map((round) => {
    const point = new Map<string, number>();
    for (const name of sorted) {
      const share = fraction(`${name}#${round}`);
      if (whole) point.set(name, 2 + round + Math.floor(share * 4));
      else point.set(name, (0.3 + share * 2.1) * (round === 3 || (round === 4 && share < 0.5) ? -1 : 1));
    }
    return point;
  });
}

/** Whether a formula makes sense only for whole numbers. */
export function wantsWholeNumbers(json: Json): boolean {
  return /"(?:Sum|Product|Mod|GCD|LCM)"/.test(JSON.stringify(json));
}
