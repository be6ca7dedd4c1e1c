import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { derivedSeed, sampleSeed, seededRandom } from "./random.ts";

describe("seededRandom", () => {
  it("gives the same numbers for the same parts, and others for other parts", () => {
    const draw = (...parts: (string | number)[]) => Array.from({ length: 5 }, seededRandom(...parts).next);
    assert.deepEqual(draw("epoch", 3), draw("epoch", 3));
    assert.notDeepEqual(draw("epoch", 3), draw("epoch", 4));
    assert.notDeepEqual(draw(1, 23), draw(12, 3));
  });

  it("draws evenly, also from neighbouring seeds", () => {
    const counts = new Array<number>(16).fill(0);
    for (let seed = 0; seed < 400; seed++) {
      const random = seededRandom(seed);
      for (let draw = 0; draw < 40; draw++) counts[random.below(16)]!++;
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    assert.ok(chiSquare < 37.7, `chi-square ${chiSquare} of 15 degrees of freedom`); // p = 0.001
  });

  it("draws normal numbers with mean 0 and variance 1", () => {
    const { normal } = seededRandom("normal");
    const values = Array.from({ length: 20_000 }, normal);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    assert.ok(Math.abs(mean) < 0.03 && Math.abs(variance - 1) < 0.05, `${mean} ${variance}`);
  });

  it("shuffles without losing an item", () => {
    const items = Array.from({ length: 50 }, (_, index) => index);
    const mixed = seededRandom(7).shuffle(items);
    assert.notDeepEqual(mixed, items);
    assert.deepEqual(
      mixed.sort((a, b) => a - b),
      items,
    );
  });
});

describe("sampleSeed", () => {
  it("gives every sample of every task its own seed below 2^31", () => {
    const seeds = new Set<number>();
    for (let task = 0; task < 100; task++) {
      for (let sample = 0; sample < 10; sample++) seeds.add(sampleSeed(1, `task-${task}`, sample));
    }
    assert.equal(seeds.size, 1000);
    assert.ok([...seeds].every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31));
    assert.equal(sampleSeed(1, "a", 2), derivedSeed(1, "a", 2));
  });
});
