/** `recipes/rl-loop.ts` is the loop of `trainRl`: with the same seed both see the same rollouts and the same losses. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type LoopOptions, type LoopStep, rlLoop } from "../recipes/rl-loop.ts";
import { readAllJsonl } from "../src/base/files/read-jsonl.ts";
import { defineTask } from "../src/core/task.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { createWorld } from "../src/lab/create-world.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { labChains, openLabModel, shippedModel } from "../src/lab/quickstart/open-model.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { engineModel } from "../src/models/engine-model.ts";
import { withFaults } from "../src/tools/with-faults.ts";
import { chainRollout } from "../src/train/chain-rollout.ts";
import type { Metrics } from "../src/train/run-folder.ts";
import { trainRl } from "../src/train/train-rl.ts";
import { byteTokenizer } from "./fixtures/conformance/byte-tokenizer.ts";
import { digitEngine, playDigit } from "./fixtures/digit-game.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-rl-loop-"));
after(() => rm(folder, { recursive: true, force: true }));

/** The steps of `trainRl` with the options that both have. */
async function trained(name: string, { groups, samples, tasks, ...options }: LoopOptions) {
  await trainRl({
    ...options,
    tasks: (step, _round, count) => tasks(step, count),
    collect: { groups, samples, maxRounds: 1 },
    updates: { perPass: 1 },
    folder: join(folder, name),
  });
  const lines = await readAllJsonl<Metrics>(join(folder, name, "metrics.jsonl"));
  return lines.map((line) => ({
    reward: line["meanReward"]!,
    groups: line["keptGroups"]!,
    loss: line["loss"] ?? 0,
    tokens: line["trainedTokens"] ?? 0,
  }));
}

/** Every figure of every step, to 1e-6. */
function assertSame(loop: readonly LoopStep[], reference: readonly LoopStep[]): void {
  assert.equal(loop.length, reference.length);
  for (const [step, line] of loop.entries())
    for (const name of ["reward", "groups", "loss", "tokens"] as const) {
      const wanted = reference[step]![name];
      assert.ok(Math.abs(line[name] - wanted) < 1e-6, `step ${step}, ${name}: ${line[name]}, not ${wanted}`);
    }
}

describe("recipes/rl-loop.ts", () => {
  it("learns the game of digits with the rewards, losses and weights of trainRl", async () => {
    const tasks = [..."0123"].map((digit) => defineTask({ id: digit, question: digit, answers: [digit] }));
    const options = (engine: ReturnType<typeof digitEngine>): LoopOptions => ({
      ...{ engine, tokenizer: byteTokenizer(), seed: 3, steps: 15, groups: 4, samples: 8 },
      tasks: () => tasks,
      rollout: (task, { seed, policy }) => playDigit(task, seed, policy),
      reward: outcomeReward((task, answer) => ({ correct: task.answers[0] === answer, score: 0, reason: "" })),
      optimizer: { learningRate: 0.3 },
    });
    const [own, reference] = [digitEngine(), digitEngine()];
    const steps = await Array.fromAsync(rlLoop(options(own)));
    assertSame(steps, await trained("digits", options(reference)));
    assert.ok(steps.at(-1)!.reward > steps[0]!.reward + 0.3, `${steps[0]!.reward} -> ${steps.at(-1)!.reward}`);
    const furthest = own.logits
      .map((logit, at) => Math.abs(logit - reference.logits[at]!))
      .reduce((a, b) => Math.max(a, b));
    assert.ok(furthest < 1e-6, `weights differ by ${furthest}`);
  });

  it("has the losses of trainRl on chains with tools that fail", async () => {
    const world = createWorld({ seed: 7, pages: 60 });
    const run = async (play: (options: LoopOptions) => Promise<LoopStep[]>) => {
      const tools = withFaults(memoryLabTools(world), { seed: 1, faults: [{ kind: "timeout", rate: 0.5 }] });
      const { engine, tokenizer } = await openLabModel(shippedModel, { threads: 1 });
      try {
        return await play({
          ...{ engine, tokenizer, seed: 1, steps: 2, groups: 2, samples: 4 },
          tasks: (step, count) => worldTasks(world, { count, families: ["hop1"], seed: 1 + step }),
          rollout: chainRollout({ ...labChains, model: (policy) => engineModel(policy, tokenizer), tools }),
          reward: outcomeReward(taskGrader()),
          optimizer: { learningRate: 3e-4, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        });
      } finally {
        await engine.close();
      }
    };
    const loop = await run((options) => Array.fromAsync(rlLoop(options)));
    assert.ok(loop[0]!.tokens > 0, "the first step has something to learn from");
    assertSame(loop, await run((options) => trained("chains", options)));
  });
});
