/** The same loops, the same seed: on the embedded engine directly, and through our own client and server over loopback. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import type { Engine } from "../../src/core/engine.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { engineModel } from "../../src/models/engine-model.ts";
import type { RolloutLine } from "../../src/train/credit-group.ts";
import { byteTokenizer } from "../fixtures/conformance/byte-tokenizer.ts";
import { whole } from "../fixtures/test-size.ts";
import { base, close, config, farLora, figures, lora, rl, sft, walks } from "./far-runs.ts";
import { loopbackTrainer } from "./loopback-trainer.ts";
import { unreliableProxy } from "./unreliable-proxy.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-far-"));
const tokenizer = byteTokenizer();
const server = await loopbackTrainer(base, config, { tokenizer });
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const engines: Record<string, () => Promise<Engine>> = {
  near: () => openEmbeddedEngine({ ...base, lora }),
  far: () => server.open({ lora: farLora }),
  "filled up": () => server.open({ lora: farLora, maxTokensSteps: [32, 128] }),
};

async function withEngine<T>(name: string, work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await engines[name]!();
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

describe("training far away", () => {
  it("shows the losses of training here, step by step (SFT)", async () => {
    for (const name of ["near", "far"]) await withEngine(name, (engine) => sft(engine, join(folder, `sft-${name}`)));
    const names = ["loss", "gradientNorm", "heldOutLoss"];
    const near = await figures(join(folder, "sft-near"), names);
    assert.ok(near.length >= 18 && near[0]! > near.at(-1)!);
    close(await figures(join(folder, "sft-far"), names), near);
    await withEngine("filled up", (engine) => sft(engine, join(folder, "sft-filled")));
    close(await figures(join(folder, "sft-filled"), names), near);
  });

  if (whole)
    it("ends where an uninterrupted run ends when it is stopped and resumed by another process's client (SFT)", async () => {
      const path = join(folder, "sft-resumed");
      const stop = new AbortController();
      const stopping = {
        signal: stop.signal,
        onProgress: ({ done }: { done: number }) => (done === 5 ? stop.abort() : undefined),
      };
      await withEngine("far", (engine) => assert.rejects(sft(engine, path, stopping), /resume/));
      const result = await withEngine("far", (engine) => sft(engine, path, { resume: "auto" }));
      assert.equal(result.steps, 8);
      const names = ["loss", "heldOutLoss"];
      close(await figures(path, names), await figures(join(folder, "sft-near"), names));
    });

  if (whole)
    it("takes the same rollouts, advantages and losses (RL, at a temperature)", async () => {
      for (const name of ["near", "far"]) await withEngine(name, (engine) => rl(engine, join(folder, `rl-${name}`)));
      const names = ["meanReward", "loss", "updates", "keptGroups", "trainedTokens"];
      close(await figures(join(folder, "rl-far"), names), await figures(join(folder, "rl-near"), names));
      const gaps = await figures(join(folder, "rl-far"), ["ratioGap"]);
      assert.ok(gaps.length > 0 && Math.max(...gaps) < 1e-4, `${gaps}`);
      const advantages = async (name: string) =>
        (await readAllJsonl<RolloutLine>(join(folder, `rl-${name}`, "rollout-figures.jsonl"))).map(
          ({ rollout, advantage = 0 }) => ({ rollout, advantage: Number(advantage.toFixed(5)) }),
        );
      assert.deepEqual(await advantages("far"), await advantages("near"));
    });

  if (whole)
    it("resumes a killed RL run from its checkpoint on the server, training on nothing twice", async () => {
      const path = join(folder, "rl-resumed");
      const stop = new AbortController();
      let rewards = 0;
      const reward = outcomeReward((task, answer) => {
        if (++rewards === 70) stop.abort();
        return { correct: task.answers[0] === answer, score: 0, reason: "" };
      });
      await withEngine("far", (engine) => assert.rejects(rl(engine, path, { signal: stop.signal, reward })));
      await withEngine("far", (engine) => rl(engine, path, { resume: "auto" }));
      const names = ["meanReward", "loss", "updates"];
      close(await figures(path, names), await figures(join(folder, "rl-near"), names));
    });

  if (whole)
    it("gives the adapter as a folder that the embedded engine opens with the same log-probabilities", async () => {
      const examples = walks().slice(0, 4);
      const far = await withEngine("far", async (engine) => {
        await sft(engine, join(folder, "sft-adapter"), { steps: 3, evaluation: undefined });
        await engine.saveAdapter!(join(folder, "adapter"));
        return engine.forward(examples, { name: "cross_entropy" });
      });
      const opened = await openEmbeddedEngine({ ...base, lora: { folder: join(folder, "adapter") } });
      try {
        const { logprobs } = await opened.forward(examples, { name: "cross_entropy" });
        close(
          logprobs.flatMap((row) => [...row]),
          far.logprobs.flatMap((row) => [...row]),
        );
      } finally {
        await opened.close();
      }
    });

  it("is told to stop at text that no single token stands for, and samples nothing after it", async () => {
    await withEngine("far", async (engine) => {
      const model = engineModel(await engine.publish(), tokenizer);
      const ask = { prompt: [], text: "", tokens: [1, 2], maxTokens: 24, temperature: 1, seed: 8 };
      const heard = async (stop: string[]) => {
        const before = engine.usage!()["sampledTokens"]!;
        const tokens: number[] = [];
        let finish = "";
        for await (const event of model.continue({ ...ask, stop })) {
          if (event.type === "delta") tokens.push(...(event.tokens ?? []));
          else finish = event.finish;
        }
        return { tokens, finish, sampled: engine.usage!()["sampledTokens"]! - before };
      };
      const free = await heard([]);
      const at = free.tokens.findIndex((token) => token >= 32 && token < 127);
      assert.deepEqual(await heard([String.fromCharCode(free.tokens[at]!)]), {
        tokens: free.tokens.slice(0, at + 1),
        finish: "stop",
        sampled: at + 1,
      });
    });
  });

  if (whole)
    it("shows the same losses through a network that loses, delays, repeats and reorders", async () => {
      const proxy = await unreliableProxy(server.origin, 6);
      const engine = await server.open({ lora: farLora, baseURL: proxy.origin, sleep: async () => {}, attempts: 100 });
      try {
        const path = join(folder, "sft-troubled");
        await sft(engine, path);
        const names = ["loss", "gradientNorm", "heldOutLoss"];
        close(await figures(path, names), await figures(join(folder, "sft-near"), names));
        assert.ok(Object.keys(proxy.troubles).length >= 4, JSON.stringify(proxy.troubles));
      } finally {
        await engine.close();
        await proxy.close();
      }
    });
});
