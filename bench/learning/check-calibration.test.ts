import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkCalibration } from "./check-calibration.ts";

const record = (check: number | undefined, correct: boolean | null) => ({
  ...(check !== undefined && { check }),
  grade: { correct, score: correct ? 1 : 0, reason: "" },
});

describe("checkCalibration", () => {
  it("gives area, Brier score and groups that can be checked by hand", () => {
    const records = [
      record(4, true),
      record(4, true),
      record(4, false),
      record(2, false),
      record(2, true),
      record(1, false),
    ];
    const { auc, brier, groups, runs } = checkCalibration(records)!;
    // Pairs of right (4, 4, 2) and wrong (4, 2, 1), a tie counting half, by a naive count.
    let won = 0;
    for (const right of [4, 4, 2]) for (const wrong of [4, 2, 1]) won += right > wrong ? 1 : right === wrong ? 0.5 : 0;
    assert.equal(auc, won / 9);
    const squares = [0, 0, 1, (1 / 3) ** 2, (2 / 3) ** 2, 0];
    assert.ok(Math.abs(brier - squares.reduce((a, b) => a + b) / 6) < 1e-12);
    assert.deepEqual(
      groups.map(({ score, runs: count, right }) => [score, count, right]),
      [
        [1, 1, 0],
        [2, 2, 1],
        [4, 3, 2],
      ],
    );
    assert.equal(runs, 6);
  });

  it("says that a score which is always 4 tells nothing, and leaves out what was not checked or graded", () => {
    assert.equal(checkCalibration([record(4, true), record(4, false)])!.auc, 0.5);
    assert.equal(checkCalibration([record(4, true)])!.auc, null);
    assert.equal(checkCalibration([record(undefined, true), record(4, null)]), null);
  });
});
