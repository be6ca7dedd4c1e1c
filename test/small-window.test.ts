/**
 * RL through a window that is too small: observations are shortened on the way, and every token is trained after what the model
 * saw when it wrote it. The shipped model in a window of 330 tokens, with real rollouts and one real update.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createWorld } from "../src/lab/create-world.ts";
import { openLabModel, shippedModel } from "../src/lab/quickstart/open-model.ts";
import { practiseInWindow } from "./fixtures/narrow-window.ts";
import { testSize } from "./fixtures/test-size.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-compacted-"));
after(() => rm(folder, { recursive: true, force: true }));

describe("a chain whose context was shortened", () => {
  it("is trained on what the model saw: the first update finds the ratios that were sampled", async () => {
    const lab = await openLabModel(shippedModel, { threads: 1 });
    try {
      const { metrics, shortened } = await practiseInWindow(lab, {
        folder: join(folder, "run"),
        seed: 1,
        steps: 1,
        collect: { groups: testSize(2, 4), samples: testSize(3, 4), maxRounds: 2 },
        updates: { perPass: 1 },
        window: 330,
        world: createWorld({ seed: 30, pages: 600 }),
        family: "hop3",
        // Any reward that differs within a group will do: what is tested is what the update sees.
        reward: async ({ usage }) => ({ reward: usage.completionTokens % 2, correct: true, score: 1, reason: "" }),
        optimizer: { learningRate: 1e-5 },
      });
      assert.ok(shortened > 0.8, `${shortened} were shortened`);
      assert.ok(Number(metrics[0]!["updates"]) > 0, "no group had anything to teach");
      assert.ok(Number(metrics[0]!["ratioGap"]) < 1e-3, `ratioGap ${metrics[0]!["ratioGap"]}`);
    } finally {
      await lab.engine.close();
    }
  });
});
