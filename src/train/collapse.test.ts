import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../base/work/random.ts";
import { collapseSign } from "./train-rl.ts";

/** Rewards a step that go through these values, with the noise of 16 groups of 8. */
function curve(points: readonly number[], stepsBetween: number, seed: number): number[] {
  const random = seededRandom(seed, "curve");
  return Array.from({ length: (points.length - 1) * stepsBetween }, (_, step) => {
    const at = Math.floor(step / stepsBetween);
    const share = (step % stepsBetween) / stepsBetween;
    return points[at]! * (1 - share) + points[at + 1]! * share + (random.next() - 0.5) * 0.12;
  });
}

describe("collapseSign", () => {
  it("sees the collapse that was measured with a constant rate: 0.44, 0.64 at step 30, 0.49 at step 60", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const rewards = curve([0.44, 0.64, 0.49], 30, seed);
      assert.equal(collapseSign(rewards.slice(0, 32), []), undefined);
      assert.match(collapseSign(rewards, []) ?? "", /reward fell from 0\.6\d to 0\.[45]\d: lower --rate/);
    }
  });

  it("does not take noise, or a policy that rises and stays, for one", () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
      for (const points of [
        [0.5, 0.5],
        [0.4, 0.6, 0.6],
      ]) {
        const rewards = curve(points, 30, seed);
        for (let step = 1; step <= rewards.length; step++)
          assert.equal(collapseSign(rewards.slice(0, step), []), undefined, `seed ${seed}, step ${step}`);
      }
    }
  });

  it("sees rollouts that become equal", () => {
    const entropies = Array.from({ length: 20 }, (_, step) => 0.4 * 0.85 ** step);
    assert.equal(collapseSign([], entropies.slice(0, 8)), undefined);
    assert.match(collapseSign([], entropies) ?? "", /entropy fell from 0\.\d+ to 0\.0\d+/);
  });
});
