import assert from "node:assert/strict";
import { it } from "node:test";
import { spreadOf } from "./dataset-reader.ts";

it("counts every value in one step, whole values in steps of whole width", () => {
  const lengths = spreadOf([0, 3, 99, 100], 100);
  assert.deepEqual(lengths[0], { from: 0, to: 3, count: 1 });
  assert.ok(lengths.length <= 40 && lengths.every(({ from }) => Number.isInteger(from)));
  assert.equal(lengths.at(-1)!.count, 2);
  const shares = spreadOf([0, 12.5, 100], 100);
  assert.deepEqual([shares.length, shares[0]!.count, shares[5]!.count, shares.at(-1)!.count], [40, 1, 1, 1]);
});
