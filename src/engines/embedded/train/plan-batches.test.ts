import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../core/random.ts";
import { paddedLength, planBatches } from "./plan-batches.ts";

describe("planBatches", () => {
  it("places every example once, in a row long enough, within the limit", () => {
    const random = seededRandom(1);
    for (let round = 0; round < 50; round++) {
      const lengths = Array.from(
        { length: 1 + Math.floor(random.next() * 40) },
        () => 1 + Math.floor(random.next() * 700),
      );
      const plans = planBatches(lengths, { maxTokens: 2048 });
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
      const found = planBatches(lengths, { maxTokens: 600 }).map((plan) =>
        plan.members.map((member) => lengths[member]!),
      );
      assert.equal(cost(found), best);
    }
  });
});
