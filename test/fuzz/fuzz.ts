/**
 * Seeded fuzzing: cases are drawn for a time (30 s, or `COA_FUZZ_SECONDS`), each must end as the target allows, and neither the
 * processor time of a case nor the memory of all may grow beyond a bound. A failure names the number of its case:
 * `COA_FUZZ_CASE` runs that one alone. Asking for the processor time costs more than most cases do, so only one that was slow by the
 * clock is run again and measured. Cases that wait for files are run side by side, in lanes.
 */
import assert from "node:assert/strict";
import { type SeededRandom, seededRandom } from "../../src/base/work/random.ts";
import { CoaError } from "../../src/core/errors.ts";

const seconds = Number(process.env["COA_FUZZ_SECONDS"] ?? 30);
const only = process.env["COA_FUZZ_CASE"];
const maxCaseMs = 5_000;
const maxGrowthMb = 300;

export interface Fuzzed {
  cases: number;
  refused: number;
  slowestMs: number;
  grownMb: number;
}

/** Draws cases until the time is over. A case may be refused with an error of ours, or with one that `allowed` knows. */
export async function fuzz(
  name: string,
  one: (random: SeededRandom, number: number, lane: number) => unknown,
  allowed: (error: unknown) => boolean = (error) => error instanceof CoaError,
  { mostCases = Number.POSITIVE_INFINITY, lanes = 1 } = {},
): Promise<Fuzzed> {
  const result: Fuzzed = { cases: 0, refused: 0, slowestMs: 0, grownMb: 0 };
  const until = performance.now() + seconds * 1000;
  let begun = 0;
  const ended = async (number: number, lane: number): Promise<boolean> => {
    try {
      await one(seededRandom(name, number), number, lane);
      return true;
    } catch (error) {
      if (!allowed(error)) throw new Error(`case ${number} of ${name}: ${String(error)}`, { cause: error });
      return false;
    }
  };
  const slow: number[] = [];
  const run = async (number: number, lane: number) => {
    const from = performance.now();
    if (!(await ended(number, lane))) result.refused++;
    const ms = performance.now() - from;
    result.slowestMs = Math.max(result.slowestMs, ms);
    if (ms > maxCaseMs) slow.push(number);
    result.cases++;
  };
  const measure = async (number: number) => {
    const from = process.cpuUsage();
    await ended(number, 0);
    const { user, system } = process.cpuUsage(from);
    const ms = (user + system) / 1000;
    assert.ok(ms < maxCaseMs, `case ${number} of ${name} took ${ms} ms of processor time`);
  };
  if (only !== undefined) await measure(Number(only));
  for (let number = 0; only === undefined && number < mostCases && performance.now() < until; number += lanes) {
    if (process.env["COA_FUZZ_LOG"]) process.stderr.write(`${number} `);
    await Promise.all(Array.from({ length: lanes }, (_, lane) => run(number + lane, lane)));
    for (const one of slow.splice(0)) await measure(one);
    if (begun === 0 && number >= 200) begun = used(); // after what is loaded and kept once
    if (number % 200 < lanes) await new Promise((resolve) => setImmediate(resolve));
  }
  result.grownMb = begun === 0 ? 0 : used() - begun;
  assert.ok(result.grownMb < maxGrowthMb, `${name} holds ${result.grownMb} MB more than after 200 cases`);
  return result;
}

function used(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const texts = ["", "\0", "\ud800", "data: [DONE]\n\n", "</answer>", "__proto__", "a".repeat(5000), "\u001b[2J", "1e999", "[[[[", "<|im_end|>", "#", "#/$defs/a", "^(a+)+$", "é\u0301", "\r\n\r\n"]; // biome-ignore format: one list
const numbers = [0, -1, 1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 1e-320, 1000];

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

/** A value that no reader expects. */
function strange(random: SeededRandom): unknown {
  const pick = <T>(list: readonly T[]) => list[random.below(list.length)]!;
  const kinds = [
    () => pick(texts),
    () => pick(numbers),
    () => null,
    () => random.below(2) === 0,
    () => [],
    () => ({}),
    () => nested(1 + random.below(260)),
    () => Array.from({ length: random.below(2000) }, () => pick(numbers)),
    () => Object.fromEntries(Array.from({ length: random.below(300) }, (_, at) => [`k${at}`, pick(texts)])),
    () => ({ constructor: { prototype: 1 }, toString: 1, length: -1 }),
  ];
  return pick(kinds)();
}

/** The value with a few of its parts replaced, dropped, doubled or moved. */
export function mutated(value: unknown, random: SeededRandom, share = 0.08): unknown {
  if (random.next() < share) return strange(random);
  if (Array.isArray(value)) {
    const list = value.flatMap((part) => {
      const draw = random.next();
      if (draw < share / 2) return [];
      const one = mutated(part, random, share);
      return draw > 1 - share / 2 ? Array.from({ length: 1 + random.below(40) }, () => one) : [one];
    });
    return list;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
    if (random.next() < share / 2) return [];
    return [[random.next() < share / 4 ? texts[random.below(texts.length)]! : key, mutated(part, random, share)]];
  });
  return Object.fromEntries(entries);
}

/** The bytes with bits turned, parts cut out, doubled or overwritten. */
export function damaged(bytes: Uint8Array, random: SeededRandom): Buffer {
  let made = Buffer.from(bytes);
  for (let change = random.below(6); change >= 0; change--) {
    const at = random.below(made.length + 1);
    const length = random.below(random.below(4) === 0 ? 400 : 8);
    const kind = random.below(6);
    if (kind === 0 && at < made.length) made[at]! ^= 1 << random.below(8);
    else if (kind === 1) made = Buffer.concat([made.subarray(0, at), made.subarray(at + length)]);
    else if (kind === 2) made = Buffer.concat([made.subarray(0, at), made.subarray(Math.max(0, at - length))]);
    else if (kind === 3) made.fill(random.below(2) === 0 ? 0 : 255, at, Math.min(made.length, at + length));
    else if (kind === 4) made = made.subarray(0, at);
    else for (let place = at; place < Math.min(made.length, at + length); place++) made[place] = random.below(256);
  }
  return made;
}
