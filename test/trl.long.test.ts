/**
 * TRL for real, where a Python that has it is named: its GRPO trains the shipped model on the CPU, our runtime plays the chains
 * with the lab's tools against TRL's own model, and our reward server grades them.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { readModelUse } from "../src/base/files/model-use-file.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { labToolsByTask } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { openPolicyClients } from "../src/models/policy-clients.ts";
import { rewardHandler } from "../src/serve/reward-handler.ts";
import { rolloutHandler } from "../src/serve/rollout-handler.ts";
import { serve } from "../src/serve/serve.ts";
import { loadTokenizer } from "../src/tokenizers/load-tokenizer.ts";

const python = process.env["COA_TEST_TRL_PYTHON"];
const steps = Number(process.env["COA_TEST_TRL_STEPS"] ?? 3);
const model = join(import.meta.dirname, "../weights/afm-lab-2m");

interface Step {
  rewards: (number | null)[];
  gap: number;
  sampled: number;
  read: number;
  chain: number;
  served: number;
  loss: number;
  norm: number;
  clipped: number;
}

describe("TRL", () => {
  it("trains on chains of our runtime, graded by our reward server", {
    skip: python ? false : "set COA_TEST_TRL_PYTHON=<python with torch and trl>",
  }, async () => {
    const home = await mkdtemp(join(tmpdir(), "coa-trl-"));
    const world = createWorld({ seed: 7, pages: 600, split: "test" });
    const policies = openPolicyClients(await loadTokenizer(model), { contextWindow: 1024 });
    const rollouts = await serve(
      rolloutHandler({
        policyAt: (address) => policies.at(address),
        profile: labProfile,
        toolsOf: labToolsByTask(world),
        reward: outcomeReward(taskGrader()),
        defaults: { systemPrompt: false, limits: (await readModelUse(model))?.limits },
      }),
      {},
    );
    const rewards = await serve(rewardHandler({ grader: taskGrader() }), {});
    try {
      const tasks = worldTasks(world, { count: 200, seed: 7 }).map(({ question, answers }) => ({
        prompt: question,
        answers,
      }));
      await writeFile(join(home, "tasks.json"), JSON.stringify(tasks));
      const script = join(import.meta.dirname, "trl-run.py");
      const args = [script, model, rollouts.origin, rewards.origin, join(home, "tasks.json"), `${steps}`, "1"];
      const child = spawn(python!, args, {
        env: {
          ...process.env,
          COA_HOME: home,
          PYTHONPATH: join(import.meta.dirname, "../integrations/trl"),
          PYTHONDONTWRITEBYTECODE: "1",
        },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const [said, errors, code] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        new Promise((resolve) => child.on("close", resolve)),
      ]);
      assert.equal(code, 0, errors);
      const lines = said
        .split("\n")
        .flatMap((line) => (line.startsWith('{"rewards"') ? (JSON.parse(line) as Step) : []));
      assert.equal(lines.length, steps);
      for (const [at, step] of lines.entries()) {
        const { chain, served, loss, norm, gap, sampled, read, clipped } = step;
        console.log(
          `step ${at + 1}: reward ${chain.toFixed(3)}, loss ${loss.toFixed(4)}, gradient ${norm.toFixed(3)}, sampled ${sampled}, read ${read}, cut off ${clipped.toFixed(3)}, gap ${gap.toExponential(1)}`,
        );
        assert.equal(step.rewards.length, 8);
        assert.ok(Math.abs(chain - served) < 1e-6, `the chains' rewards ${chain}, the reward server's ${served}`);
        assert.ok(gap < 1e-4, `log-probabilities of sampler and trainer differ by ${gap}`);
        assert.ok(sampled > 0 && read > 0, "chains have observations, which are masked");
        assert.ok(Number.isFinite(loss) && norm >= 0);
      }
      assert.ok(
        lines.some(({ norm }) => norm > 0),
        "no step taught anything",
      );
    } finally {
      await policies.close();
      await rollouts.stop(1000);
      await rewards.stop(1000);
      await rm(home, { recursive: true, force: true });
    }
  });
});
