/**
 * The statistics of an evaluation: pass@k without bias, bootstrap intervals over tasks, and a paired test of two systems
 * on the same tasks. Randomness is seeded, so a report computed twice says the same.
 */
import { seededRandom } from "../base/work/random.ts";
import type { Estimate, PairedComparison } from "../report/figures.ts";

/** Chance that k samples drawn from n, of which c are right, hold a right one: 1 − C(n−c, k) / C(n, k). */
export function passAtK(n: number, c: number, k: number): number {
  if (k > n) throw new RangeError(`pass@${k} needs at least ${k} samples, there are ${n}`);
  if (n - c < k) return 1;
  let miss = 1;
  for (let i = n - c + 1; i <= n; i++) miss *= 1 - k / i;
  return 1 - miss;
}

/** The mean; of nothing it is 0. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * A share of independent pairs with Wilson's 95 % interval: unlike a bootstrap it has a width where all of them agree, which
 * is where a decision hangs on it.
 */
export function shareEstimate(right: number, of: number): Estimate {
  if (of === 0) return { value: 0, low: 0, high: 1 };
  const z = 1.96;
  const share = right / of;
  const centre = share + z ** 2 / (2 * of);
  const spread = z * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  const scale = 1 + z ** 2 / of;
  return { value: share, low: Math.max(0, (centre - spread) / scale), high: Math.min(1, (centre + spread) / scale) };
}

/** 95 % bootstrap interval of a statistic of rows: rows (tasks, not samples) are drawn again with replacement. */
export function bootstrap<Row>(
  rows: readonly Row[],
  statistic: (rows: readonly Row[]) => number,
  { resamples = 2000, seed = 1 }: { resamples?: number; seed?: number } = {},
): Estimate {
  const value = statistic(rows);
  if (rows.length === 0) return { value, low: value, high: value };
  const random = seededRandom(seed).next;
  const drawn = new Array<Row>(rows.length);
  const values: number[] = [];
  for (let round = 0; round < resamples; round++) {
    for (let i = 0; i < rows.length; i++) drawn[i] = rows[Math.floor(random() * rows.length)]!;
    const figure = statistic(drawn);
    if (!Number.isNaN(figure)) values.push(figure);
  }
  values.sort((a, b) => a - b);
  return { value, low: quantile(values, 0.025), high: quantile(values, 0.975) };
}

export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * share;
  const below = Math.floor(at);
  const low = sorted[below]!;
  const high = sorted[Math.min(below + 1, sorted.length - 1)]!;
  // Infinite neighbours (no success in a resample) must not become NaN.
  return low === high ? low : low + (high - low) * (at - below);
}

/**
 * Compares two systems task by task by flipping signs of the differences: under the hypothesis of no difference each
 * sign is a fair coin. All flips are counted where they are few enough, otherwise 20,000 are drawn. For one sample per
 * task this is the exact McNemar test.
 */
export function comparePaired(
  first: readonly number[],
  second: readonly number[],
  options: { resamples?: number; seed?: number } = {},
): PairedComparison {
  if (first.length !== second.length)
    throw new RangeError(`pairs need equal lengths: ${first.length} and ${second.length}`);
  const differences = first.map((value, i) => second[i]! - value);
  const moved = differences.filter((value) => value !== 0);
  const { pValue, method } = signFlipTest(moved, options.seed ?? 1);
  return {
    tasks: first.length,
    difference: bootstrap(differences, mean, options),
    pValue,
    method,
    firstBetter: moved.filter((value) => value < 0).length,
    secondBetter: moved.filter((value) => value > 0).length,
  };
}

function signFlipTest(moved: readonly number[], seed: number): { pValue: number; method: "exact" | "simulated" } {
  if (moved.length === 0) return { pValue: 1, method: "exact" };
  const observed = Math.abs(sum(moved));
  const tolerance = 1e-9;
  const size = Math.abs(moved[0]!);
  // Equal sizes (one sample per task): the number of positive signs is binomial, at any length.
  if (moved.every((value) => Math.abs(Math.abs(value) - size) < tolerance)) {
    const n = moved.length;
    let extreme = 0;
    for (let k = 0; k <= n; k++)
      if (Math.abs(2 * k - n) * size >= observed - tolerance) extreme += Math.exp(logBinomial(n, k) - n * Math.LN2);
    return { pValue: Math.min(1, extreme), method: "exact" };
  }
  if (moved.length <= 14) {
    let extreme = 0;
    const flips = 2 ** moved.length;
    for (let signs = 0; signs < flips; signs++) {
      let total = 0;
      for (const [i, value] of moved.entries()) total += signs & (1 << i) ? value : -value;
      if (Math.abs(total) >= observed - tolerance) extreme++;
    }
    return { pValue: extreme / flips, method: "exact" };
  }
  const random = seededRandom(seed).next;
  const draws = 20_000;
  let extreme = 1; // the observed one is one of the possible
  for (let draw = 0; draw < draws; draw++) {
    let total = 0;
    for (const value of moved) total += random() < 0.5 ? value : -value;
    if (Math.abs(total) >= observed - tolerance) extreme++;
  }
  return { pValue: extreme / (draws + 1), method: "simulated" };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function logBinomial(n: number, k: number): number {
  let log = 0;
  for (let i = 1; i <= k; i++) log += Math.log(n - k + i) - Math.log(i);
  return log;
}
