import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import { paddedLength, planBatches } from "./lay-out-batches.ts";

/** Examples of these lengths that share nothing. */
const alone = (lengths: number[]) => lengths.map((length) => ({ tokens: new Int32Array(length), silent: 0 }));

describe("planBatches", () => {
  it("places every example once, in a row long enough, within the limit", () => {
    const random = seededRandom(1);
    for (let round = 0; round < 50; round++) {
      const lengths = Array.from(
        { length: 1 + Math.floor(random.next() * 40) },
        () => 1 + Math.floor(random.next() * 700),
      );
      const plans = planBatches(alone(lengths), { maxTokens: 2048 });
      assert.deepEqual(
        plans.flatMap((plan) => plan.members).sort((a, b) => a - b),
        lengths.map((_, index) => index),
      );
      for (const { length, members } of plans) {
        assert.ok(members.every((member) => lengths[member]! <= length));
        assert.ok(members.length === 1 || members.length * length <= 2048);
      }
    }
  });

  it("costs no more than any other division of the sorted examples", () => {
    const random = seededRandom(2);
    for (let round = 0; round < 30; round++) {
      const lengths = Array.from({ length: 7 }, () => 1 + Math.floor(random.next() * 300)).sort((a, b) => a - b);
      const cost = (groups: number[][]) =>
        groups.reduce((total, group) => total + 96 + group.length * paddedLength(Math.max(...group)), 0);
      let best = Number.POSITIVE_INFINITY;
      for (let cuts = 0; cuts < 2 ** (lengths.length - 1); cuts++) {
        const groups: number[][] = [[]];
        lengths.forEach((length, index) => {
          groups.at(-1)!.push(length);
          if (cuts & (1 << index) && index < lengths.length - 1) groups.push([]);
        });
        if (groups.every((group) => group.length === 1 || group.length * paddedLength(Math.max(...group)) <= 600))
          best = Math.min(best, cost(groups));
      }
      const found = planBatches(alone(lengths), { maxTokens: 600 }).map((plan) =>
        plan.members.map((member) => lengths[member]!),
      );
      assert.equal(cost(found), best);
    }
  });

  it("shares what rollouts of one prompt begin with, and only as far as nothing is scored there", () => {
    const prompt = (first: number) => Int32Array.from({ length: 100 }, (_, index) => first + index);
    const rollout = (first: number, length: number, silent = 99) => ({
      tokens: Int32Array.of(...prompt(first), ...new Int32Array(length)),
      silent,
    });
    const examples = [rollout(1, 40), rollout(500, 38), rollout(1, 37), rollout(500, 40), rollout(1, 39)];
    assert.deepEqual(planBatches(examples, { maxTokens: 300 }), [
      { trunk: 99, length: 48, members: [2, 4, 0] },
      { trunk: 99, length: 48, members: [1, 3] },
    ]);
    const taughtEarly = [rollout(1, 40, 30), rollout(1, 38, 30), rollout(1, 39, 35)];
    assert.deepEqual(planBatches(taughtEarly, { maxTokens: 1000 }), [{ trunk: 30, length: 112, members: [1, 2, 0] }]);
    assert.deepEqual(
      planBatches(
        examples.map((example) => ({ ...example, silent: 3 })),
        { maxTokens: 2000 },
      ).map(({ trunk }) => trunk),
      [0],
    );
  });
});
