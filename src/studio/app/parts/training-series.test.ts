import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nearestStep, type Point, pointAt, seriesOf, thinned } from "./training-series.ts";

describe("the series of a training", () => {
  it("are its numbers, those that people look at first before the others, those that never change apart", () => {
    const lines = [1, 2, 3].map((step) => ({ step, rate: 0.1, clip: step, loss: -step, note: "x" }));
    const { moving, still } = seriesOf(lines);
    assert.deepEqual(
      moving.map(([name]) => name),
      ["loss", "clip"],
    );
    assert.deepEqual(still, [["rate", lines.map(({ step, rate }) => [step, rate])]]);
    assert.equal(seriesOf(lines.slice(0, 1)).moving.length, 3, "of one step nothing is known to stay");
  });

  it("have a value at every step from their first on, and a nearest step everywhere", () => {
    const points: Point[] = [
      [2, 10],
      [4, 20],
      [8, 30],
    ];
    assert.deepEqual(
      [1, 2, 3, 4, 7, 99].map((step) => pointAt(points, step)?.[1]),
      [undefined, 10, 10, 20, 20, 30],
    );
    assert.deepEqual(
      [-5, 2.9, 3.1, 5.9, 6.1, 50].map((step) => nearestStep(points, step)),
      [2, 2, 4, 4, 8, 8],
    );
  });

  it("keep their extremes and their order when they are thinned", () => {
    const points = Array.from({ length: 10_000 }, (_, step): Point => [step, Math.sin(step / 50)]).with(
      5_000,
      [5_000, 9],
    );
    const kept = thinned(points, 640);
    assert.ok(kept.length <= 640);
    assert.ok(kept.some(([step, value]) => step === 5_000 && value === 9));
    assert.ok(kept.every(([step], index) => index === 0 || step > kept[index - 1]![0]));
    assert.equal(thinned(points.slice(0, 100), 640).length, 100);
  });
});
