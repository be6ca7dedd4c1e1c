import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Example } from "../../core/engine.ts";
import { openEmbeddedEngine } from "./embedded-engine.ts";
import { saveModelFolder } from "./files/model-folder.ts";
import { modelConfig } from "./model/config.ts";
import { initialParameters } from "./model/parameters.ts";
import { adapterMemory, loadSharedBase } from "./shared-base.ts";

const config = modelConfig({
  vocabularySize: 60,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  intermediateSize: 24,
  maxContext: 32,
});
const folder = await mkdtemp(join(tmpdir(), "coa-shared-"));
after(() => rm(folder, { recursive: true, force: true }));
const model = join(folder, "model");
await saveModelFolder(model, { config, parameters: initialParameters(config, 3, { embeddingDeviation: 0.4 }) });
const example: Example = { input: Int32Array.of(5, 9, 2, 40), targets: Int32Array.of(9, 2, 40, 7) };
const loss = { name: "cross_entropy" } as const;

describe("engines over one base", () => {
  it("read one copy of its weights, and train adapters that know nothing of each other", async () => {
    const base = await loadSharedBase(model);
    const open = (seed: number) => openEmbeddedEngine({ base, lora: { rank: 2, seed }, threads: 1 });
    const [one, other] = await Promise.all([open(1), open(2)]);
    const alone = await openEmbeddedEngine({ folder: model, lora: { rank: 2, seed: 1 }, threads: 1 });
    const score = async (engine: typeof one) => [...(await engine.forward([example], loss)).logprobs[0]!];
    try {
      const before = await score(other);
      for (const engine of [one, alone]) {
        await engine.forwardBackward([example], loss);
        await engine.optimStep({ learningRate: 0.1 });
      }
      assert.deepEqual(await score(one), await score(alone), "as an engine with weights of its own");
      assert.notDeepEqual(await score(one), before);
      assert.deepEqual(await score(other), before, "the other adapter has not moved");

      const pinned = await one.publish({ pinned: true });
      const drawn = await pinned.sample({ tokens: [5, 9], maxTokens: 6, temperature: 0 });
      for (const [at, engine] of [one, other].entries()) {
        const state = join(folder, `state-${at}`);
        await engine.saveState(state);
        await engine.loadState(state);
        await engine.saveModel(join(folder, `merged-${at}`));
      }
      const merged = await openEmbeddedEngine({ folder: join(folder, "merged-0"), threads: 1 });
      try {
        const [scored, own] = [await score(merged), await score(one)];
        for (const [at, value] of scored.entries()) assert.ok(Math.abs(value - own[at]!) < 2e-5);
        assert.deepEqual((await merged.sample({ tokens: [5, 9], maxTokens: 6, temperature: 0 })).tokens, drawn.tokens);
      } finally {
        await merged.close();
      }

      // The base is never written to; that a change of it reaches both proves that neither has a copy.
      base.parameters.get("model.norm.weight")!.data.fill(0.5);
      assert.notDeepEqual(await score(other), before);
      assert.notDeepEqual(await score(one), await score(alone));
    } finally {
      await Promise.all([one, other, alone].map((engine) => engine.close()));
    }
  });

  it("refuses what would write to the base", async () => {
    const base = await loadSharedBase(model);
    await assert.rejects(openEmbeddedEngine({ base, threads: 1 }), /give `lora`/);
    const whole = await openEmbeddedEngine({ folder: model, threads: 1 });
    await whole.saveState(join(folder, "whole"));
    await whole.close();
    const engine = await openEmbeddedEngine({ base, lora: { rank: 2 }, threads: 1 });
    try {
      await assert.rejects(engine.loadState(join(folder, "whole")), /a whole model.*adapters only/);
    } finally {
      await engine.close();
    }
  });

  it("tells what an adapter and a published policy take", () => {
    const small = adapterMemory(config, { rank: 2, cacheBytes: 1e6 });
    const large = adapterMemory(config, { rank: 4, cacheBytes: 3e6 });
    assert.equal(small.base, large.base);
    assert.ok(large.training > small.training);
    assert.equal(large.sampling - small.sampling, 2e6);
  });
});
