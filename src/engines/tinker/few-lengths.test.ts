import assert from "node:assert/strict";
import { it } from "node:test";
import type { Example } from "../../core/engine.ts";
import { dapoLoss } from "../../train/rl-options.ts";
import { filledUp, roundedUp } from "./few-lengths.ts";

it("asks for few numbers of tokens, whatever the lengths of prompts", () => {
  const steps = [64, 256, 1024];
  const window = 1024;
  const prompts = Array.from({ length: 900 }, (_, at) => at + 1);
  const asked = prompts.map((length) => roundedUp(Math.min(200, window - length), steps, window - length));
  assert.deepEqual([...new Set(asked.slice(0, 824))], [256, 200]);
  assert.ok(
    asked.every((count, at) => count >= Math.min(200, window - prompts[at]!) && count <= window - prompts[at]!),
  );
  assert.equal(roundedUp(200, undefined, 900), 200);
  assert.equal(roundedUp(5000, steps, 9000), 5000);
});

it("trains few lengths: what is filled up teaches nothing, and means over targets stay what they were", () => {
  const steps = [64, 256, 1024];
  const examples = Array.from({ length: 300 }, (_, at): Example => {
    const ids = Int32Array.from({ length: at + 1 }, (_, index) => 1 + (index % 9));
    return {
      input: ids,
      targets: ids,
      oldLogprobs: new Float32Array(at + 1),
      advantages: new Float32Array(at + 1).fill(0.5),
    };
  });
  const filled = examples.map((example) => filledUp(example, dapoLoss, steps, true));
  assert.deepEqual([...new Set(filled.map(({ input }) => input.length))], steps);
  for (const [at, { targets, oldLogprobs, advantages }] of filled.entries()) {
    assert.ok(targets.length === advantages!.length && targets.length === oldLogprobs!.length);
    assert.ok(Math.abs(advantages!.reduce((sum, value) => sum + value, 0) / targets.length - 0.5) < 1e-5);
    assert.ok(advantages!.subarray(at + 1).every((value) => value === 0));
  }
  const { weights } = filledUp(examples[9]!, { name: "cross_entropy" }, steps, false);
  assert.deepEqual(
    [...weights!],
    Array.from({ length: 64 }, (_, at) => (at < 10 ? 1 : 0)),
  );
  assert.equal(filledUp(examples[9]!, dapoLoss, [], true), examples[9]);
});
