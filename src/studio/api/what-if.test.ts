import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { OutcomeRecord } from "../../distill/read-distillation.ts";
import { measuredStages, whatIf } from "./what-if.ts";

const decision = (stage: string, measure: string, value: number, threshold: number, kept: boolean) => ({
  stage,
  measure,
  value,
  threshold,
  kept,
});

/** Ten records with 1 to 10 interactions, at least 5 wanted; of those that pass every second is copied too much. */
const outcomes = Array.from({ length: 10 }, (_, index): OutcomeRecord => {
  const calls = index + 1;
  const complex = decision("complexity", "interactions", calls, 5, calls >= 5);
  const copied = decision("redundancy", "copied share", calls % 2 ? 0.2 : 0.9, 0.6, calls % 2 === 1);
  const stage = calls < 5 ? "complexity" : calls % 2 ? null : "redundancy";
  const decisions = calls < 5 ? [complex] : [complex, copied];
  return { index, file: "runs.jsonl", line: calls, id: `run-${calls}`, taskId: "t", family: "", stage, decisions };
});

describe("what if", () => {
  it("says which side of a bound passes, from what was decided", () => {
    const sides = measuredStages(outcomes).map(({ stage, side, threshold }) => [stage, side, threshold]);
    assert.deepEqual(sides, [
      ["complexity", "least", 5],
      ["redundancy", "most", 0.6],
    ]);
  });

  it("counts every record once in the spread", () => {
    const [complexity] = measuredStages(outcomes);
    assert.equal(
      complexity!.steps.reduce((sum, { kept, dropped }) => sum + kept + dropped, 0),
      10,
    );
    assert.equal(
      complexity!.steps.reduce((sum, { dropped }) => sum + dropped, 0),
      4,
    );
  });

  it("counts what a lower bound lets through and what a higher one loses", () => {
    assert.deepEqual(whatIf(outcomes, "complexity", 3), {
      stage: "complexity",
      threshold: 3,
      more: 2,
      fewer: 0,
      expected: 1,
    });
    assert.deepEqual(whatIf(outcomes, "complexity", 8), {
      stage: "complexity",
      threshold: 8,
      more: 0,
      fewer: 2,
      expected: 0,
    });
    assert.equal(whatIf(outcomes, "redundancy", 0.95).more, 3);
    assert.equal(whatIf(outcomes, "redundancy", 0.1).fewer, 3);
  });
});
