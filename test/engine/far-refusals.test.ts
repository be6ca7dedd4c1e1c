/** What can't be trained far away is refused before the first step, by our own server and by one that knows only the protocol. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { writeTar } from "../../src/base/files/tar.ts";
import type { Engine } from "../../src/core/engine.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { saveCheckpointFiles } from "../../src/engines/tinker/checkpoint-files.ts";
import { dapoLoss } from "../../src/train/rl-options.ts";
import { byteTokenizer } from "../fixtures/conformance/byte-tokenizer.ts";
import { base, config, farLora, lora, rl, sft } from "./far-runs.ts";
import { loopbackTrainer, withoutExtension } from "./loopback-trainer.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-refusals-"));
const ours = await loopbackTrainer(base, config);
const other = await loopbackTrainer(base, config, {}, withoutExtension);
after(async () => {
  await ours.close();
  await other.close();
  await rm(folder, { recursive: true, force: true });
});

const _tokenizer = byteTokenizer();
const engines: Record<string, () => Promise<Engine>> = {
  "our server": () => ours.open({ lora: farLora }),
  "a server without our extension": () => other.open({ lora: farLora }),
  "the embedded engine": () => openEmbeddedEngine({ ...base, lora }),
};
let runs = 0;

for (const [name, open] of Object.entries(engines)) {
  describe(`${name} refuses before the first step`, () => {
    const far = name !== "the embedded engine";

    if (!far) return;
    it("Muon's learning rate of matrices, in the loops and by itself", async () => {
      const engine = await open();
      const optimizer = { learningRate: 0.01, matrixLearningRate: 0.01 };
      try {
        const refused = /AdamW, not Muon: leave matrixLearningRate/;
        await assert.rejects(sft(engine, join(folder, `run-${runs++}`), { optimizer }), refused);
        await assert.rejects(rl(engine, join(folder, `run-${runs++}`), { optimizer, loss: dapoLoss }), refused);
        await assert.rejects(engine.optimStep(optimizer), /AdamW/);
      } finally {
        await engine.close();
      }
    });

    it("a mask of tokens", async () => {
      const engine = await open();
      try {
        assert.equal(engine.capabilities.tokenMasks, false);
        const policy = await engine.publish();
        const masked = policy.sample({ tokens: [1], maxTokens: 1, allowedTokens: () => [2] });
        await assert.rejects(masked, /this engine takes no token masks/);
      } finally {
        await engine.close();
      }
    });

    it("training of all weights, where the server trains adapters alone", async () => {
      const server = name === "our server" ? ours : other;
      await assert.rejects(server.open({ lora: { rank: 0 } }), /adapters of rank 1 or more, not whole models/);
      await assert.rejects(server.open({ lora: undefined as never }), /needs lora.rank/);
    });
  });
}

describe("a server without our extension", () => {
  it("refuses a temperature, which its loss could not divide by", async () => {
    const engine = await other.open({ lora: farLora });
    try {
      await assert.rejects(
        rl(engine, join(folder, "tempered")),
        /can't train on samples of temperature 0.9; sample at 1/,
      );
    } finally {
      await engine.close();
    }
  });
});

describe("a server that only knows the protocol", () => {
  it("drops a clip of gradients, which the manifest then does not claim", async () => {
    const optimizer = { learningRate: 0.01, gradientClip: 1 };
    for (const [name, claimed] of [
      ["a server without our extension", false],
      ["our server", true],
    ] as const) {
      const engine = await engines[name]!();
      const run = join(folder, `run-${runs++}`);
      try {
        await sft(engine, run, { optimizer, steps: 1 });
      } finally {
        await engine.close();
      }
      const manifest = await readFile(join(run, "manifest.json"), "utf8");
      assert.equal(manifest.includes("gradientClip"), claimed, manifest);
    }
  });

  it("keeps no archive of what was fetched, and the adapter names the modules that have weights", async () => {
    const engine = await other.open({ lora: farLora });
    try {
      await engine.saveAdapter!(join(folder, "adapter"));
    } finally {
      await engine.close();
    }
    const left = await readdir(join(other.folder, "checkpoints"), { recursive: true });
    assert.deepEqual(left.filter((name) => name.includes("sampler_weights/")), []); // biome-ignore format: one check
    const file = join(folder, "adapter", "adapter_config.json");
    const config = JSON.parse(await readFile(file, "utf8"));
    const weights = await readFile(join(folder, "adapter", "adapter_model.safetensors"));
    const archive = writeTar({
      "adapter_config.json": Buffer.from(JSON.stringify({ ...config, target_modules: null })),
      "adapter_model.safetensors": weights,
    });
    await saveCheckpointFiles(archive, join(folder, "as-skyrl"), { merge: false });
    const named = JSON.parse(await readFile(join(folder, "as-skyrl", "adapter_config.json"), "utf8"));
    assert.deepEqual(named.target_modules.toSorted(), config.target_modules.toSorted());
  });

  it("that was started again is told as that, with what to do", async () => {
    let restarted = false;
    const server = await loopbackTrainer(base, config, {}, (handler) => async (request, reply) => {
      if (restarted && request.path.endsWith("/forward_backward"))
        return reply.send(404, '{"detail":"Model model_1 not loaded"}', { "content-type": "application/json" });
      return handler(request, reply);
    });
    const engine = await server.open({ lora: farLora });
    try {
      restarted = true;
      await assert.rejects(sft(engine, join(folder, `run-${runs++}`)), /started again\? Run the same command again/);
    } finally {
      await engine.close();
      await server.close();
    }
  });
});
