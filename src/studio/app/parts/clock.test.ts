import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunView } from "../../api/run-view.ts";
import { axisOf, usualClock } from "./clock.ts";

/** Steps with a start, an end and the tokens that each read. */
function run(...steps: [start: number | undefined, end: number | undefined, tokens: number][]): RunView {
  return {
    steps: steps.map(([start, end, prompt], index) => ({
      id: `s${index}`,
      start,
      end,
      calls: [],
      tokens: { prompt, reread: 0, retold: 0, completion: 0 },
    })),
  } as never;
}

describe("the clock of a run", () => {
  it("is time where most steps can be told apart by it, else their order", () => {
    assert.equal(usualClock(run([0, 100, 1], [100, 300, 1])), "time");
    assert.equal(usualClock(run([undefined, undefined, 1], [undefined, undefined, 1])), "order");
    // Scripted steps take no time beside one that waits.
    assert.equal(usualClock(run([0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1_000, 1])), "order");
  });

  it("covers the axis once by order and by tokens, each step after the one before", () => {
    const shown = run([0, 5, 300], [5, 9, 0], [9, 10, 100]);
    for (const clock of ["order", "tokens"] as const) {
      let before = 0;
      for (const { from, to } of axisOf(shown, clock).steps.values()) {
        assert.ok(Math.abs(from - before) < 1e-12 && to > from);
        before = to;
      }
      assert.ok(Math.abs(before - 1) < 1e-12);
    }
    assert.equal(axisOf(shown, "tokens").steps.get("s0")!.to, 300 / 401);
    assert.equal(axisOf(shown, "order").at, undefined);
  });

  it("places steps by time, and leaves one that took none wide enough to be seen", () => {
    const { steps, at, length } = axisOf(run([0, 50, 1], [50, 50, 1], [60, 200, 1]), "time");
    assert.equal(length, 200);
    assert.deepEqual(steps.get("s0"), { from: 0, to: 0.25 });
    assert.deepEqual(steps.get("s1"), { from: 0.25, to: 0.254 });
    assert.equal(at!(100), 0.5);
    assert.equal(axisOf(run(), "time").steps.size, 0);
  });
});
