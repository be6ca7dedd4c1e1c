/**
 * RL through a window that is too small: observations are shortened on the way, and every token is trained after what the model
 * saw when it wrote it. The shipped model in a window of 330 tokens, with real rollouts and one real update.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { runChain } from "../src/chain/run-chain.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { openLabModel, shippedModel } from "../src/lab/quickstart/open-model.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { engineModel } from "../src/models/engine-model.ts";
import type { Metrics } from "../src/train/run-folder.ts";
import type { Rollout } from "../src/train/run-rollout.ts";
import { trainRl } from "../src/train/train-rl.ts";
import { testSize } from "./fixtures/test-size.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-compacted-"));
after(() => rm(folder, { recursive: true, force: true }));

describe("a chain whose context was shortened", () => {
  it("is trained on what the model saw: the first update finds the ratios that were sampled", async () => {
    const lab = await openLabModel(shippedModel, { threads: 1 });
    const world = createWorld({ seed: 30, pages: 600 });
    const tools = memoryLabTools(world);
    try {
      await trainRl({
        engine: lab.engine,
        tokenizer: lab.tokenizer,
        folder: join(folder, "run"),
        seed: 1,
        steps: 1,
        groups: testSize(2, 4),
        samples: testSize(3, 4),
        maxRounds: 2,
        updatesPerEpoch: 1,
        maxRatioGap: 1e-3,
        context: [{ fromStep: 0, tokens: 330 }],
        tasks: (_step, round, count) => worldTasks(world, { count, families: ["hop3"], seed: round }),
        rollout: (task, { policy, seed, maxContext }) => {
          const model = engineModel(policy, lab.tokenizer);
          return runChain(task, {
            model: { ...model, capabilities: { ...model.capabilities, contextWindow: maxContext } },
            tools,
            profile: labProfile,
            systemPrompt: false,
            enforcement: "repair",
            limits: { maxSteps: 16, maxTokensPerCall: 120, maxCompletionTokens: 500, answerReserve: 24 },
            compaction: { maxTokens: 12, keepNewest: 1, targetShare: 0.5 },
            sampling: { temperature: 1, seed },
          });
        },
        // Any reward that differs within a group will do: what is tested is what the update sees.
        reward: async ({ usage }) => ({ reward: usage.completionTokens % 2, correct: true, score: 1, reason: "" }),
        optimizer: { learningRate: 1e-5 },
      });
    } finally {
      await lab.engine.close();
    }
    const rollouts = await readAllJsonl<Rollout>(join(folder, "run", "rollouts.jsonl"));
    const compacted = rollouts.filter(({ trajectory }) => (trajectory.compactions?.length ?? 0) > 0).length;
    assert.ok(compacted / rollouts.length > 0.8, `${compacted} of ${rollouts.length} were compacted`);
    const [line] = await readAllJsonl<Metrics>(join(folder, "run", "metrics.jsonl"));
    assert.ok(Number(line!["updates"]) > 0, "no group had anything to teach");
    assert.ok(Number(line!["ratioGap"]) < 1e-3, `ratioGap ${line!["ratioGap"]}`);
  });
});
