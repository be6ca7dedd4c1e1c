import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunView } from "../../api/run-view.ts";
import { axisOf } from "./clock.ts";

/** Steps with a start and an end. */
function run(...steps: [start?: number, end?: number][]): RunView {
  return { steps: steps.map(([start, end], index) => ({ id: `s${index}`, start, end, calls: [] })) } as never;
}

describe("the clock of a run", () => {
  it("is time where most steps can be told apart by it, else their order", () => {
    assert.ok(axisOf(run([0, 100], [100, 300])).at);
    assert.equal(axisOf(run([], [])).at, undefined);
    // Scripted steps take no time beside one that waits.
    assert.equal(axisOf(run([0, 0], [0, 1], [1, 1], [1, 1_000])).at, undefined);
  });

  it("covers the axis once by order, each step after the one before", () => {
    let before = 0;
    for (const { from, to } of axisOf(run([], [], [])).steps.values()) {
      assert.ok(Math.abs(from - before) < 1e-12 && to > from);
      before = to;
    }
    assert.ok(Math.abs(before - 1) < 1e-12);
  });

  it("places steps by time, and leaves one that took none wide enough to be seen", () => {
    const { steps, at, length } = axisOf(run([0, 50], [50, 50], [60, 200]));
    assert.equal(length, 200);
    assert.deepEqual(steps.get("s0"), { from: 0, to: 0.25 });
    assert.deepEqual(steps.get("s1"), { from: 0.25, to: 0.254 });
    assert.equal(at!(100), 0.5);
    assert.equal(axisOf(run()).steps.size, 0);
  });
});
