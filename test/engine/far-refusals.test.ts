/** What can't be trained far away is refused before the first step, by our own server and by one that knows only the protocol. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Engine } from "../../src/core/engine.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
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
