import assert from "node:assert/strict";
import { it } from "node:test";
import { roundedUp } from "./sample-length.ts";

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
