import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { agreesWith, type MathPair, mathPairs } from "../../../test/fixtures/math-pairs.ts";
import { testSize, whole } from "../../../test/fixtures/test-size.ts";
import { extractAnswer, gradeMath } from "./grade-math.ts";

/** One pair in so many. */
const pairs = async (every: number) => (await mathPairs()).filter((_, i) => i % every === 0);

describe("gradeMath", () => {
  it("agrees with at least 99 % of the hand-labelled pairs, right and wrong ones alike", async (t) => {
    await agreesWith(await pairs(testSize(4, 1)), t);
  });

  it("gives the same grade whatever was graded before", async () => {
    const all = await pairs(testSize(16, 4));
    const forward = new Map<MathPair, boolean | null>();
    for (const pair of all) forward.set(pair, (await gradeMath([pair.gold], pair.answer)).correct);
    for (const pair of all.toReversed()) {
      assert.equal((await gradeMath([pair.gold], pair.answer)).correct, forward.get(pair), pair.gold);
    }
  });

  it("finds every gold again inside a box and inside a sentence", async () => {
    for (const { gold } of await pairs(testSize(8, 1))) {
      if (/\$|\\boxed|[A-Za-z]{4,} /.test(gold)) continue;
      assert.equal((await gradeMath([gold], `We find that\n\\[ \\boxed{${gold}} \\]\nas wanted.`)).correct, true, gold);
      assert.equal((await gradeMath([gold], `Therefore the answer is $${gold}$.`)).correct, true, gold);
    }
  });

  it("accepts any of several golds", async () => {
    assert.equal((await gradeMath(["3", "\\frac{1}{2}"], "0.5")).correct, true);
    assert.equal((await gradeMath(["3", "\\frac{1}{2}"], "0.4")).correct, false);
  });

  it("returns wrong, quickly, for answers made to hang or to overflow", async () => {
    const hostile = [
      "(".repeat(5000),
      "9^{9^{9^{9}}}",
      "1000000!",
      "\\sum_{k=1}^{19999} \\sum_{j=1}^{19999} k",
      "|".repeat(501),
      "1,".repeat(900),
      "\\boxed{".repeat(2000),
      "x^{".repeat(200) + "}".repeat(200),
      `0.${"3".repeat(50_000)}`,
      "\\[".repeat(30_000),
      "the answer is ".repeat(20_000),
      // This one takes all the time there is for one answer, some seconds.
      ...(whole ? [Array.from({ length: 60 }, (_, i) => `\\sum_{k=1}^{\\infty} \\sin(k! + ${i})`).join(", ")] : []),
    ];
    for (const answer of hostile) assert.equal((await gradeMath(["e, 1"], answer)).correct, false, answer.slice(0, 40));
  });

  it("says no answer for an empty one", async () => {
    assert.deepEqual(await gradeMath(["1"], null), { correct: false, score: 0, reason: "no answer" });
  });
});

describe("extractAnswer", () => {
  it("prefers the last box, then the phrase, then the last formula, then the last number", () => {
    assert.deepEqual(extractAnswer("$1$ \\boxed{2} the answer is 3"), { text: "2", by: "boxed" });
    assert.deepEqual(extractAnswer("$1$ so the answer is 3."), { text: "3", by: "phrase" });
    assert.deepEqual(extractAnswer("first $1$, then we get $2$ of them"), { text: "2", by: "formula" });
    assert.deepEqual(extractAnswer("there are 12 cats and 7 dogs"), { text: "7", by: "number" });
  });

  it("keeps nested braces together", () => {
    assert.equal(extractAnswer("\\boxed{\\frac{1}{\\sqrt{2}}}").text, "\\frac{1}{\\sqrt{2}}");
  });
});
