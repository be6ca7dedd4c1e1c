/** Chains whose context was shortened on the way are trained on what the model really saw: their ratios are 1. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { lossFigures } from "../src/base/count/policy-loss.ts";
import { runChain } from "../src/chain/run-chain.ts";
import { rolloutToExamples } from "../src/dataset/trajectory-to-example.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { openLabModel } from "../src/lab/quickstart/open-model.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { engineModel } from "../src/models/engine-model.ts";

describe("rollouts with a shortened context", () => {
  it("have the log-probabilities they were sampled with, in every context version", async () => {
    const { engine, tokenizer } = await openLabModel(join(import.meta.dirname, "../weights/afm-lab-2m"));
    try {
      const world = createWorld({ seed: 9, pages: 300, split: "test" });
      const model = engineModel(await engine.publish(), tokenizer);
      const narrow = { ...model, capabilities: { ...model.capabilities, contextWindow: 330 } };
      let compacted = 0;
      for (const task of worldTasks(world, { count: 6, seed: 4 })) {
        const trajectory = await runChain(task, {
          model: narrow,
          tools: memoryLabTools(world),
          profile: labProfile,
          systemPrompt: false,
          limits: { maxSteps: 16, maxTokensPerCall: 60, answerReserve: 24 },
          compaction: { maxTokens: 16, keepNewest: 1 },
          sampling: { temperature: 1, seed: 3 },
        });
        const examples = rolloutToExamples(trajectory, tokenizer, 1);
        if (trajectory.compactions) {
          compacted++;
          assert.ok(examples.length > 1, "one example per context");
        }
        const { logprobs } = await engine.forward(examples, { name: "cross_entropy" });
        const figures = lossFigures(examples, { name: "importance_sampling" }, logprobs);
        const sampled = trajectory.segments.flatMap((segment) => segment.logprobs ?? []).length;
        assert.equal(
          figures.reduce((sum, { tokens }) => sum + tokens, 0),
          sampled,
          "every sampled token is trained once",
        );
        for (const { ratioGap } of figures) assert.ok(ratioGap < 1e-3, `off by ${ratioGap}`);
      }
      assert.ok(compacted > 0, "no context was shortened");
    } finally {
      await engine.close();
    }
  });
});
