import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../base/work/random.ts";
import { bootstrap, comparePaired, mean, passAtK, quantile, shareEstimate } from "./statistics.ts";
import { successOfAll } from "./summarise.ts";

function choose(n: number, k: number): number {
  let result = 1;
  for (let i = 0; i < k; i++) result = (result * (n - i)) / (i + 1);
  return result;
}

describe("passAtK", () => {
  it("equals the closed form with binomials for every n, c and k up to 20", () => {
    for (let n = 1; n <= 20; n++) {
      for (let c = 0; c <= n; c++) {
        for (let k = 1; k <= n; k++) {
          const closed = 1 - (n - c >= k ? choose(n - c, k) / choose(n, k) : 0);
          assert.ok(Math.abs(passAtK(n, c, k) - closed) < 1e-12, `${n} ${c} ${k}`);
        }
      }
    }
  });

  it("equals the share of all k-subsets that hold a right sample", () => {
    const [n, c, k] = [8, 3, 4];
    let hits = 0;
    let subsets = 0;
    for (let mask = 0; mask < 1 << n; mask++) {
      if (mask.toString(2).replaceAll("0", "").length !== k) continue;
      subsets++;
      if (mask & ((1 << c) - 1)) hits++;
    }
    assert.ok(Math.abs(passAtK(n, c, k) - hits / subsets) < 1e-12);
  });

  it("has no bias: over many draws its mean is 1 − (1 − p)^k", () => {
    const random = seededRandom(7).next;
    const [n, k, p] = [10, 3, 0.3];
    const values = Array.from({ length: 40_000 }, () => {
      let c = 0;
      for (let i = 0; i < n; i++) if (random() < p) c++;
      return passAtK(n, c, k);
    });
    const plugIn = 1 - (1 - p) ** k;
    assert.ok(Math.abs(mean(values) - plugIn) < 0.005, `${mean(values)} against ${plugIn}`);
  });

  it("refuses a k that there are not enough samples for", () => {
    assert.throws(() => passAtK(2, 1, 3), RangeError);
  });
});

describe("bootstrap", () => {
  it("gives the width of the normal approximation for a mean of many", () => {
    const random = seededRandom(3).next;
    const values = Array.from({ length: 400 }, () => (random() < 0.4 ? 1 : 0));
    const { value, low, high } = bootstrap(values, mean, { resamples: 4000, seed: 5 });
    const error = Math.sqrt((value * (1 - value)) / values.length);
    assert.ok(Math.abs(high - low - 2 * 1.96 * error) < 0.25 * 2 * 1.96 * error);
  });

  it("holds the truth about as often as it says", () => {
    const random = seededRandom(11).next;
    let covered = 0;
    const trials = 400;
    for (let trial = 0; trial < trials; trial++) {
      const values = Array.from({ length: 60 }, () => (random() < 0.5 ? 1 : 0));
      const { low, high } = bootstrap(values, mean, { resamples: 300, seed: trial });
      if (low <= 0.5 && 0.5 <= high) covered++;
    }
    assert.ok(covered / trials > 0.9 && covered / trials < 0.99, String(covered / trials));
  });

  it("is the same for the same seed, and a point for one value", () => {
    const values = [1, 0, 1, 1, 0];
    assert.deepEqual(bootstrap(values, mean, { seed: 2 }), bootstrap(values, mean, { seed: 2 }));
    assert.deepEqual(bootstrap([4], mean), { value: 4, low: 4, high: 4 });
  });
});

describe("successOfAll", () => {
  it("gives the exact binomial interval where every task came out the same", () => {
    // With true success p, nought of ten happens with (1 − p)^10; at the bound that is 2.5 %.
    const none = successOfAll(Array(10).fill(0));
    assert.ok(Math.abs((1 - none.high) ** 10 - 0.025) < 1e-12);
    assert.deepEqual([none.value, none.low], [0, 0]);
    const all = successOfAll(Array(10).fill(1));
    assert.ok(Math.abs(all.low ** 10 - 0.025) < 1e-12);
    assert.deepEqual(successOfAll([0, 1, 1]), bootstrap([0, 1, 1], mean));
  });
});

describe("comparePaired", () => {
  it("equals the binomial McNemar test for one sample per task", () => {
    const first = [...Array(6).fill(1), ...Array(14).fill(0), ...Array(30).fill(1)];
    const second = [...Array(6).fill(0), ...Array(14).fill(1), ...Array(30).fill(1)];
    let tail = 0;
    for (let k = 14; k <= 20; k++) tail += choose(20, k) / 2 ** 20;
    const { pValue, difference, firstBetter, secondBetter, method } = comparePaired(first, second);
    assert.ok(Math.abs(pValue - 2 * tail) < 1e-12);
    assert.equal(method, "exact");
    assert.ok(Math.abs(difference.value - 8 / 50) < 1e-12);
    assert.deepEqual([firstBetter, secondBetter], [6, 14]);
  });

  it("simulates what it can't count and agrees with the count where both are possible", () => {
    const random = seededRandom(9).next;
    const differences = Array.from({ length: 14 }, () => Math.round(random() * 8 - 3) / 4 || 0.25);
    const exact = comparePaired(Array(14).fill(0), differences);
    // Doubling every pair with its mirror image leaves the question open; the simulated p must be near one.
    const mirrored = [...differences, ...differences.map((value) => -value)];
    const simulated = comparePaired(Array(28).fill(0), mirrored);
    assert.equal(exact.method, "exact");
    assert.equal(simulated.method, "simulated");
    assert.ok(simulated.pValue > 0.95);
  });

  it("rejects a true hypothesis about as often as the level says", () => {
    const random = seededRandom(21).next;
    let rejected = 0;
    const trials = 600;
    for (let trial = 0; trial < trials; trial++) {
      const draw = () => Array.from({ length: 12 }, () => Math.floor(random() * 5) / 4);
      if (comparePaired(draw(), draw(), { resamples: 1 }).pValue <= 0.05) rejected++;
    }
    assert.ok(rejected / trials < 0.075, String(rejected / trials));
  });
});

describe("quantile", () => {
  it("interpolates, and keeps infinities", () => {
    assert.equal(quantile([0, 1, 2, 3], 0.5), 1.5);
    assert.equal(quantile([1, Infinity, Infinity], 1), Infinity);
  });
});

describe("shareEstimate", () => {
  it("holds the shares whose count is within 1.96 standard errors of theirs, found by trying all", () => {
    for (const [right, of] of [
      [0, 10],
      [10, 10],
      [7, 10],
      [1, 300],
    ] as const) {
      const { value, low, high } = shareEstimate(right, of);
      const within = Array.from({ length: 10_001 }, (_, step) => step / 10_000).filter(
        (share) => Math.abs(right / of - share) <= 1.96 * Math.sqrt((share * (1 - share)) / of) + 1e-12,
      );
      assert.equal(value, right / of);
      assert.ok(Math.abs(low - within[0]!) < 2e-4 && Math.abs(high - within.at(-1)!) < 2e-4, `${right} of ${of}`);
    }
    assert.deepEqual(shareEstimate(0, 0), { value: 0, low: 0, high: 1 });
  });
});
