/**
 * The loops against a live SkyRL server (jax, CPU), where one is named: COA_TEST_SKYRL_URL is its address, COA_TEST_SKYRL_MODEL the
 * folder it was started with (float32; qwen3 or llama), which the embedded engine opens too. With random weights its embeddings should be
 * wide (deviation 0.4): where all tokens are as likely, a few dozen rollouts reinforce nothing.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { loadModelConfig } from "../../src/engines/embedded/files/model-folder.ts";
import { openTinkerEngine } from "../../src/engines/tinker/tinker-engine.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import { dapoLoss } from "../../src/train/rl-options.ts";
import { figures, rl, sft, walks } from "./far-runs.ts";

const baseURL = process.env["COA_TEST_SKYRL_URL"];
const model = process.env["COA_TEST_SKYRL_MODEL"] ?? "";
const skip = baseURL
  ? false
  : "set COA_TEST_SKYRL_URL and COA_TEST_SKYRL_MODEL to a SkyRL server and its model's folder";
const folder = await mkdtemp(join(tmpdir(), "coa-skyrl-"));
after(() => rm(folder, { recursive: true, force: true }));
const notes: string[] = [];

async function open(lora = { rank: 4, seed: 5 }) {
  const { vocabularySize, maxContext } = await loadModelConfig(model);
  return openTinkerEngine({
    baseURL: baseURL!,
    baseModel: model,
    lora,
    vocabularySize,
    maxContext,
    reduction: "sequence-mean",
    maxTokensSteps: [16, 64],
    onNote: (note) => notes.push(note),
  });
}

describe("a live SkyRL server", { skip }, () => {
  it("has a sampler and a trainer that agree", async () => {
    const engine = await open();
    try {
      await engine.verify([5, 9, 13, 22, 30]);
    } finally {
      await engine.close();
    }
  });

  it("imitates: the loss falls, a second client resumes from the checkpoint, and the adapter opens here", async () => {
    const path = join(folder, "sft");
    const stop = new AbortController();
    const examples = walks().slice(0, 4);
    const first = await open();
    try {
      const onProgress = ({ done }: { done: number }) => (done === 5 ? stop.abort() : undefined);
      await assert.rejects(sft(first, path, { signal: stop.signal, onProgress, evaluation: undefined }), /resume/);
    } finally {
      await first.close();
    }
    const second = await open();
    try {
      await sft(second, path, { resume: "auto", evaluation: undefined });
      const losses = await figures(path, ["loss"]);
      assert.equal(losses.length, 8);
      assert.ok(losses.at(-1)! < losses[0]! - 0.1, `${losses}`);
      await second.saveAdapter!(join(folder, "adapter"));
      const far = await second.forward(examples, { name: "cross_entropy" });
      const here = await openEmbeddedEngine({ folder: model, lora: { folder: join(folder, "adapter") }, threads: 1 });
      try {
        const near = await here.forward(examples, { name: "cross_entropy" });
        const gaps = near.logprobs.flatMap((row, at) =>
          [...row].map((value, of) => Math.abs(value - far.logprobs[at]![of]!)),
        );
        assert.ok(Math.max(...gaps) < 2e-5, `log-probabilities differ by ${Math.max(...gaps)}`);
        console.log(`skyrl: losses ${losses.map((loss) => loss.toFixed(3))}, adapter gap ${Math.max(...gaps)}`);
      } finally {
        await here.close();
      }
    } finally {
      await second.close();
    }
  });

  it("refuses all weights and Muon before the first step, and stops at text", async () => {
    await assert.rejects(open({ rank: 0, seed: 5 }), /rank/i);
    const engine = await open();
    try {
      const optimizer = { learningRate: 0.01, matrixLearningRate: 0.01 };
      await assert.rejects(sft(engine, join(folder, "muon"), { optimizer }), /AdamW, not Muon/);
      await assert.rejects(rl(engine, join(folder, "tempered")), /temperature 0.9; sample at 1/);
      const tokenizer = await loadTokenizer(model);
      const policy = await engine.publish();
      const ask = { tokens: [5, 9, 13], maxTokens: 16, temperature: 1, seed: 3 };
      const free = await policy.sample(ask);
      const text = new TextDecoder().decode(tokenizer.tokenBytes(free.tokens[4]!));
      const stopped = await policy.sample({ ...ask, stopStrings: [text] });
      console.log(`skyrl: stopped at ${JSON.stringify(text)} after ${stopped.tokens.length} of 16 tokens`);
      assert.equal(stopped.finish, "stop");
      assert.deepEqual(stopped.tokens, free.tokens.slice(0, stopped.tokens.length));
      assert.ok(stopped.tokens.length <= 5);
    } finally {
      await engine.close();
    }
  });

  for (const seed of [4, 5, 6])
    it(`reinforces: the reward rises, and the first ratio of each sampled token is 1 (seed ${seed})`, async () => {
      const path = join(folder, `rl-${seed}`);
      const engine = await open({ rank: 4, seed });
      try {
        await rl(engine, path, { seed, steps: 12, loss: dapoLoss, optimizer: { learningRate: 0.003 } });
        const rewards = await figures(path, ["meanReward"]);
        const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
        const gap = Math.max(...(await figures(path, ["ratioGap"])));
        console.log(`skyrl: seed ${seed}, rewards ${rewards.map((reward) => reward.toFixed(2))}, ratio gap ${gap}`);
        assert.ok(mean(rewards.slice(-3)) > rewards[0]! + 0.2, `${rewards}`);
        assert.ok(gap < 1e-3);
      } finally {
        await engine.close();
      }
    });
});
