/**
 * Learning, proved small: a toy model on products of two numbers that training never showed. Supervised training takes it
 * from nothing to most of them. Stopped halfway, its samples are often wrong, and reinforcement with live tools, which knows
 * nothing but right or wrong, makes them better. Taught by a team that errs in two fifths of its runs it copies the errors, and
 * reinforcement removes them. Both whatever the seed.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Example } from "../src/core/engine.ts";
import type { Model } from "../src/core/model.ts";
import type { Sandbox } from "../src/core/sandbox.ts";
import type { Task } from "../src/core/task.ts";
import type { Tool } from "../src/core/tool.ts";
import { type Trajectory, trajectoryText } from "../src/core/trajectory.ts";
import { trajectoryToExample } from "../src/dataset/trajectory-to-example.ts";
import { distillRun } from "../src/distill/distill-run.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";
import { taskGrader } from "../src/graders/grade-task.ts";
import { outcomeReward } from "../src/graders/reward.ts";
import { copyTask, inSequence } from "../src/lab/copy-task.ts";
import { createWorld, type World } from "../src/lab/create-world.ts";
import { labModelUse } from "../src/lab/lab-model-use.ts";
import { memoryLabTools } from "../src/lab/memory-lab-tools.ts";
import { labProfile } from "../src/lab/profile.ts";
import { openLabModel, runLabChain } from "../src/lab/quickstart/open-model.ts";
import { type LabTools, realLabTools } from "../src/lab/real-lab-tools.ts";
import { scriptedSpecialists } from "../src/lab/scripted-specialists.ts";
import { worldTasks } from "../src/lab/world-tasks.ts";
import { tagTokens } from "../src/language/profile.ts";
import { engineModel } from "../src/models/engine-model.ts";
import { runTeam } from "../src/team/run-team.ts";
import { trainTokenizer } from "../src/tokenizers/train-tokenizer.ts";
import { chooseSandbox } from "../src/tools/sandbox/choose-sandbox.ts";
import { fixedExamples } from "../src/train/example-source.ts";
import { saveTrained } from "../src/train/save-trained.ts";
import { trainRl } from "../src/train/train-rl.ts";
import { trainSft } from "../src/train/train-sft.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-learning-"));
const testWorld = createWorld({ seed: 9, pages: 60, split: "test" });
const heldOut = products(testWorld, 200, 0);

/** Questions of the form "What is 578 times 47?". */
function products(world: World, count: number, seed: number): Task[] {
  const tasks = worldTasks(world, { count: count * 8, families: ["arith"], seed });
  return tasks.filter((task) => /^\D*\d+ times \d+\W*$/.test(task.question)).slice(0, count);
}

/** Chains of a team, erring in a share of its runs. */
async function teamChains(imperfect: number): Promise<Trajectory[]> {
  const roles = scriptedSpecialists({ imperfect, seed: 1 });
  const chains: Trajectory[] = [];
  for (let seed = 0; seed < 4; seed++) {
    const world = createWorld({ seed, pages: 60 });
    const tools = memoryLabTools(world);
    for (const task of products(world, 280, 0)) {
      const { trajectory } = distillRun(await runTeam(task, { roles, tools }), {
        profile: labProfile,
        systemPrompt: false,
      });
      if (trajectory) chains.push(trajectory);
    }
  }
  return chains;
}

async function success(model: Model, tools: readonly Tool[], temperature: number): Promise<number> {
  const runs = await Promise.all(heldOut.map((task, seed) => runLabChain(task, { model, tools, temperature, seed })));
  return runs.filter((run, at) => run.answer?.trim() === heldOut[at]!.answers[0]).length / heldOut.length;
}

/** Trains a model from nothing on the chains and saves it. */
async function taught(
  chains: readonly Trajectory[],
  name: string,
  steps = 320,
): Promise<{ before: number; after: number; model: string }> {
  const texts = chains
    .slice(0, 300)
    .flatMap((chain) => [` ${chain.prompt[0]!.content}`, trajectoryText(chain.segments)]);
  const tokenizer = trainTokenizer(texts, {
    vocabularySize: 400,
    specialTokens: tagTokens([labProfile]),
    prompt: "question",
  });
  const examples = chains
    .map((chain) => trajectoryToExample(chain, tokenizer).example)
    .filter((example): example is Example => example !== undefined);
  const size = {
    hiddenSize: 64,
    layers: 2,
    heads: 2,
    kvHeads: 2,
    headSize: 32,
    intermediateSize: 192,
    maxContext: 512,
  };
  const engine = await openEmbeddedEngine({
    config: {
      architecture: "qwen2",
      vocabularySize: tokenizer.vocabularySize,
      ...size,
      ropeTheta: 1e6,
      rmsEpsilon: 1e-6,
      tieEmbeddings: true,
      qkvBias: true,
    },
    seed: 1,
    copyInit: true,
    threads: 1,
    optimizer: "muon",
  });
  try {
    const model = engineModel(engine, tokenizer);
    const tools = memoryLabTools(testWorld);
    const before = await success(model, tools, 0);
    const letters = Array.from({ length: 256 }, (_, token) => token).filter(
      (token) => tokenizer.tokenBytes(token)[0]! > 32 && tokenizer.tokenBytes(token)[0]! < 127,
    );
    await trainSft({
      engine,
      source: inSequence([
        {
          source: copyTask({
            tokens: letters,
            digits: [..."0123456789"].flatMap((digit) => tokenizer.encode(digit)),
            tokensPerBatch: 1024,
            length: 128,
            seed: 1,
          }),
          steps: 20,
        },
        { source: fixedExamples(examples, 2048, 1), steps },
      ]),
      folder: join(folder, name),
      seed: 1,
      steps: 20 + steps,
      optimizer: { learningRate: 3e-3, matrixLearningRate: 1e-2, gradientClip: 1 },
      schedule: { warmupSteps: 10, decay: "linear", decayShare: 0.6, floor: 0.05 },
    });
    const saved = join(folder, name, "model");
    await saveTrained({ model: saved }, { engine, tokenizer, use: labModelUse([]) });
    return { before, after: await success(model, tools, 0), model: saved };
  } finally {
    await engine.close();
  }
}

describe("a toy model", () => {
  let sandbox: Sandbox;
  let practice: LabTools;
  let exam: LabTools;
  const practiceWorld = createWorld({ seed: 20, pages: 60 });
  before(async () => {
    sandbox = chooseSandbox({ isolation: "run" });
    practice = await realLabTools(practiceWorld, sandbox);
    exam = await realLabTools(testWorld, sandbox);
  });
  after(async () => {
    await practice.close();
    await exam.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("learns from a team's chains to answer what it never saw", async (context) => {
    const { before, after } = await taught(await teamChains(0), "clean");
    context.diagnostic(`held-out success ${before} -> ${after}`);
    assert.equal(before, 0);
    assert.ok(after >= 0.6, `${before} -> ${after}`);
  });

  /** Held-out success before and after RL with live tools. */
  async function reinforced(
    start: string,
    name: string,
    how: { seed: number; steps: number; groups: number; rate: number },
  ) {
    const lab = await openLabModel(start, { optimizer: "adamw" });
    try {
      const measure = async () => ({
        greedy: await success(lab.model, exam.tools, 0),
        sampled: await success(lab.model, exam.tools, 1),
      });
      const before = await measure();
      const { rollouts } = await trainRl({
        engine: lab.engine,
        tokenizer: lab.tokenizer,
        folder: join(folder, `${name}-${how.seed}`),
        seed: how.seed,
        steps: how.steps,
        collect: { groups: how.groups, samples: 8, maxRounds: 2, concurrency: 128 },
        updates: { passes: 2 },
        credit: { baseline: "least-variance" },
        tasks: (step, round, count) => products(practiceWorld, count, 1 + step * 10 + round),
        rollout: (task, { seed, policy }) =>
          runLabChain(task, {
            model: engineModel(policy, lab.tokenizer),
            tools: practice.tools,
            temperature: 1,
            seed,
          }),
        reward: outcomeReward(taskGrader()),
        optimizer: { learningRate: how.rate, beta1: 0.9, beta2: 0.95, gradientClip: 1 },
        schedule: { warmupSteps: 3, decay: "constant" },
      });
      const after = await measure();
      const figures = `seed ${how.seed}: greedy ${before.greedy} -> ${after.greedy}, sampled ${before.sampled} -> ${after.sampled}, ${rollouts} rollouts`;
      return { before, after, figures };
    } finally {
      await lab.engine.close();
    }
  }

  it("gets better by reinforcement from a half-trained start, in three seeds", async (context) => {
    const { model } = await taught(await teamChains(0), "half", 110);
    for (const seed of [1, 2, 3]) {
      const { before, after, figures } = await reinforced(model, "half-rl", {
        seed,
        steps: 12,
        groups: 24,
        rate: 3e-4,
      });
      context.diagnostic(figures);
      assert.ok(after.sampled >= before.sampled + 0.05, figures);
      assert.ok(after.greedy >= before.greedy - 0.02, figures);
    }
  });

  it("unlearns a team's errors by reinforcement with live tools, in three seeds", async (context) => {
    const { model } = await taught(await teamChains(0.4), "erring");
    for (const seed of [1, 2, 3]) {
      const { before, after, figures } = await reinforced(model, "erring-rl", {
        seed,
        steps: 6,
        groups: 16,
        rate: 4e-4,
      });
      context.diagnostic(figures);
      assert.ok(after.sampled >= before.sampled + 0.2, figures);
      assert.ok(after.greedy >= before.greedy, figures);
    }
  });
});
