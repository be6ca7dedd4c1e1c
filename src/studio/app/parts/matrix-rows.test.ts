import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MatrixCell, MatrixView } from "../../api/evaluation-readers.ts";
import { matrixRows } from "./matrix-rows.ts";

const cell = (right: number | null): MatrixCell => ({ right, samples: 1, answer: "", billed: 10, ending: "answered" });
const row = (task: string, sft: number | null | undefined, rl: number | null | undefined, family = "hop1") => ({
  task,
  question: { text: task, length: task.length },
  family,
  cells: [sft, rl].map((right) => (right === undefined ? null : cell(right))),
  differs: sft !== rl,
});
const view = {
  systems: [{ folder: "evals/sft" }, { folder: "evals/rl" }] as MatrixView["systems"],
  rows: [
    row("both", 1, 1),
    row("lost", 1, 0),
    row("won", 0, 1, "hop2"),
    row("undecided", 1, null),
    row("half", 1, 0.5),
    row("absent", 1, undefined),
  ],
};
const shown = (query: string) => matrixRows(view, new URLSearchParams(query)).map(({ task }) => task);

describe("the tasks of a matrix", () => {
  it("are those that one system has right and another wrong; what was not decided is neither", () => {
    assert.deepEqual(shown("right=evals/sft&wrong=evals/rl"), ["lost", "half"]);
    assert.deepEqual(shown("right=evals/rl&wrong=evals/sft"), ["won"]);
    assert.deepEqual(shown("wrong=evals/rl"), ["lost", "half"]);
  });

  it("are all of them where the address names a system that is not there", () => {
    assert.equal(shown("right=evals/gone").length, view.rows.length);
  });

  it("are narrowed by family and by what systems failed", () => {
    assert.deepEqual(shown("family=hop2"), ["won"]);
    assert.deepEqual(shown("only=failed"), ["lost", "won"]);
    assert.deepEqual(shown("only=differ&family=hop1"), ["lost", "undecided", "half", "absent"]);
  });
});
