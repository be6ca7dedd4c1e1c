import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { MatrixCell, MatrixView } from "../../api/evaluation-readers.ts";
import { matrixColumns, matrixRows } from "./matrix-rows.ts";

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

describe("the systems of a matrix", () => {
  const failing = "four in ten searches fail";
  const systems = [
    { folder: "team", against: 0 },
    { folder: "sft", against: 0, learned: "sft" },
    { folder: "rl", against: 0, learned: "rl" },
    { folder: "team-failing", against: 3, condition: failing },
    { folder: "sft-failing", against: 3, condition: failing, learned: "sft" },
    { folder: "rl-failing", against: 3, condition: failing, learned: "rl" },
  ] as MatrixView["systems"];
  const columns = (text: string) =>
    matrixColumns({ systems }, new URLSearchParams(text)).map((place) => systems[place]!.folder);

  it("are all of them, or those chosen with what they are measured against and the other stages of their training", () => {
    assert.equal(columns("").length, systems.length);
    assert.deepEqual(columns("wrong=rl-failing"), ["team-failing", "sft-failing", "rl-failing"]);
    assert.deepEqual(columns("right=team&wrong=rl-failing"), ["team", "team-failing", "sft-failing", "rl-failing"]);
  });
});
