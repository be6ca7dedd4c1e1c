/** RL in a window that is too small for the chain, with every rollout shortened on the way: what it practises it learns. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { mean } from "../src/evaluate/statistics.ts";
import { trainingWorld } from "../src/lab/lab-runs.ts";
import { openLabModel, shippedModel } from "../src/lab/quickstart/open-model.ts";
import { narrowTasks, practiseInWindow } from "./fixtures/narrow-window.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-narrow-"));
after(() => rm(folder, { recursive: true, force: true }));

describe("RL in a window of 330 tokens", () => {
  it("raises the reward of rollouts that are shortened, with the ratios that were sampled", async (context) => {
    const lab = await openLabModel(shippedModel, { optimizer: "adamw", threads: 1 });
    try {
      const world = trainingWorld({ seed: 71, pages: 600 }, 5000);
      // A quarter of the window stays free for a turn, so that walks of two facts are shortened too.
      const free = { maxTokensPerCall: 82, answerReserve: 0 };
      const { tokenizer } = lab;
      const tasks = await narrowTasks(world, { count: 8, family: "hop2", seed: 1, tokens: 330, free, tokenizer });
      const { metrics, shortened, rollouts } = await practiseInWindow(lab, {
        folder: join(folder, "run"),
        seed: 1,
        steps: 6,
        collect: { groups: tasks.length },
        window: 330,
        free,
        world,
        family: "hop2",
        // The same tasks in every step: by far most of what differs between steps is otherwise the tasks.
        tasks: () => tasks,
        onProgress: ({ done, figures }) => context.diagnostic(`step ${done}: reward ${figures?.["reward"]}`),
      });
      const rewards = metrics.map((line) => Number(line["meanReward"]));
      const gap = Math.max(...metrics.map((line) => Number(line["ratioGap"] ?? 0)));
      context.diagnostic(
        `${rollouts} rollouts, ${(100 * shortened).toFixed(1)} % shortened, largest ratioGap ${gap.toPrecision(2)}`,
      );
      assert.ok(shortened > 0.95, `${shortened} were shortened`);
      assert.ok(gap < 1e-3, `ratioGap ${gap}`);
      assert.ok(mean(rewards.slice(-2)) > mean(rewards.slice(0, 2)) + 0.1, `${rewards}`);
    } finally {
      await lab.engine.close();
    }
  });
});
