import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { alignMoves } from "./compare-reader.ts";

describe("alignMoves", () => {
  it("puts equal moves into one row and keeps everybody's order", () => {
    const sequences = [
      ["plan", "search", "read", "answer"],
      ["search", "search", "answer"],
      ["plan", "read", "check", "answer"],
    ];
    const rows = alignMoves(sequences);
    for (const [column, sequence] of sequences.entries()) {
      const places = rows.flatMap((row) => row[column] ?? []);
      assert.deepEqual(places, [...sequence.keys()]);
    }
    for (const row of rows) {
      const names = new Set(row.flatMap((at, column) => (at === undefined ? [] : [sequences[column]![at]])));
      assert.equal(names.size, 1);
    }
    assert.deepEqual(rows.at(-1), [3, 2, 3]);
    assert.equal(rows.length, 6);
    assert.deepEqual(alignMoves([[], []]), []);
  });
});
