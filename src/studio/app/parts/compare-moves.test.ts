import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CompareView } from "../../api/compare-reader.ts";
import { differs, firstParting } from "./compare-moves.ts";

/** Systems with the texts of their moves, and rows of places in them. */
function view(systems: [kind: "run" | "chain", ...texts: string[]][], rows: (number | null)[][]) {
  const moves = (texts: string[]) =>
    texts.map((text) => ({ name: "think", by: "model", text: { text, length: text.length } }));
  return {
    systems: systems.map(([kind, ...texts]) => ({ kind, moves: moves(texts) })),
    rows,
  } as unknown as CompareView;
}

describe("moves that are compared", () => {
  it("differ by their words, not by their layout", () => {
    const two = view(
      [
        ["chain", "a  b", "x"],
        ["chain", " a b", "y"],
      ],
      [
        [0, 0],
        [1, 1],
        [0, null],
      ],
    );
    assert.deepEqual(
      two.rows.map((row) => differs(two, row)),
      [false, true, false],
    );
  });

  it("part where two chains do, not where a team says more than they", () => {
    const three = view(
      [
        ["run", "t", "u"],
        ["chain", "a", "b"],
        ["chain", "a", "c"],
      ],
      [
        [0, null, null],
        [null, 0, 0],
        [1, 1, 1],
      ],
    );
    assert.equal(firstParting(three), 2);
    assert.equal(
      firstParting({
        ...three,
        rows: [
          [0, 0, 0],
          [null, 1, null],
        ],
      }),
      1,
      "one of the chains lacks the move",
    );
    const alone = view(
      [
        ["run", "t"],
        ["chain", "t"],
      ],
      [
        [0, 0],
        [0, null],
      ],
    );
    assert.equal(firstParting(alone), 1, "with one chain all are compared");
  });

  it("part nowhere where all say the same", () => {
    assert.equal(
      firstParting(
        view(
          [
            ["chain", "a"],
            ["chain", "a"],
          ],
          [[0, 0]],
        ),
      ),
      -1,
    );
  });
});
