import { describe, it } from "node:test";
import { agreesWith, mathPairs } from "../../../test/fixtures/math-pairs.ts";

describe("gradeMath on every pair", () => {
  it("agrees with at least 99 % of the hand-labelled pairs", async (t) => {
    await agreesWith(await mathPairs(), t);
  });
});
