import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { whole } from "../../../test/fixtures/test-size.ts";
import { totalLoss } from "../../base/count/policy-loss.ts";
import { seededRandom } from "../../base/work/random.ts";
import type { Engine, Example, ForwardResult, SampleRequest } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import { type EmbeddedEngine, openEmbeddedEngine } from "./embedded-engine.ts";
import { modelConfig } from "./model/config.ts";

const config = modelConfig({
  vocabularySize: 24,
  hiddenSize: 32,
  layers: 2,
  heads: 2,
  intermediateSize: 48,
  maxContext: 128,
});
let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-engine-"));
});
after(() => rm(folder, { recursive: true, force: true }));

function randomBatch(seed: number, count = 4, length = 12): Example[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const ids = Int32Array.from({ length: length + 1 }, () => Math.floor(random.next() * config.vocabularySize));
    return { input: ids.slice(0, -1), targets: ids.slice(1) };
  });
}

async function withEngine<T>(
  options: Parameters<typeof openEmbeddedEngine>[0],
  work: (engine: EmbeddedEngine) => Promise<T>,
): Promise<T> {
  const engine = await openEmbeddedEngine({ threads: 1, ...options });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

const lossOf = (batch: Example[], { logprobs }: ForwardResult) => totalLoss(batch, { name: "cross_entropy" }, logprobs);

async function train(engine: Engine, from: number, to: number): Promise<number[]> {
  const losses: number[] = [];
  for (let step = from; step < to; step++) {
    losses.push(lossOf(randomBatch(step), await engine.forwardBackward(randomBatch(step), { name: "cross_entropy" })));
    await engine.optimStep({ learningRate: 1e-2, matrixLearningRate: 1e-2, gradientClip: 1, weightDecay: 0.01 });
  }
  return losses;
}

describe("saveState and loadState", () => {
  // Muon steps the matrices and AdamW the rest; AdamW for all is in the long tier.
  for (const optimizer of whole ? (["adamw", "muon"] as const) : (["muon"] as const)) {
    it(`go on bit for bit as if nothing had happened, sampling included (${optimizer})`, async () => {
      const state = join(folder, `state-${optimizer}`);
      const unbroken = await withEngine({ config, seed: 1, optimizer }, async (engine) => {
        await train(engine, 0, 3);
        await engine.sample({ tokens: [1, 2, 3], maxTokens: 2 });
        await engine.saveState(state);
        return [await train(engine, 3, 6), await engine.sample({ tokens: [1, 2, 3], maxTokens: 8 })];
      });
      const resumed = await withEngine({ config, seed: 99, optimizer }, async (engine) => {
        await train(engine, 50, 52); // whatever was there before is gone
        await engine.loadState(state);
        return [await train(engine, 3, 6), await engine.sample({ tokens: [1, 2, 3], maxTokens: 8 })];
      });
      assert.deepEqual(resumed, unbroken);
      await withEngine({ folder: state }, async (engine) => {
        assert.equal(engine.capabilities.vocabularySize, 24);
      });
    });
  }

  it("names file and tensor of a state that can't be used, and leaves the engine as it was", async () => {
    const state = join(folder, "broken");
    await withEngine({ config, seed: 1 }, async (engine) => {
      await train(engine, 0, 2);
      await engine.saveState(state);
      const before = await engine.forward(randomBatch(7), { name: "cross_entropy" });
      const rejects = (pattern: RegExp) =>
        assert.rejects(engine.loadState(state), (error: unknown) => {
          assert.ok(error instanceof CoaError);
          assert.match(error.message, pattern);
          return true;
        });
      const path = join(state, "optimizer.safetensors");
      const bytes = await readFile(path);
      await truncate(path, bytes.length - 40);
      await rejects(/optimizer\.safetensors/);
      await writeFile(path, bytes);
      await writeFile(join(state, "state.json"), '{"version":1,"optimizer":"muon","steps":2,"sampleSeed":1}');
      await rejects(/trained with muon/);
      await writeFile(join(state, "state.json"), '{"version":7}');
      await rejects(/state\.json is not a training state/);
      await assert.rejects(engine.loadState(join(folder, "nowhere")), /nowhere/);
      assert.deepEqual(await engine.forward(randomBatch(7), { name: "cross_entropy" }), before);
    });
    const other = modelConfig({ ...config, hiddenSize: 16 });
    await withEngine({ config, seed: 1 }, (engine) => engine.saveState(state));
    await withEngine({ config: other, seed: 1 }, async (engine) => {
      await assert.rejects(
        engine.loadState(state),
        /embed_tokens\.weight has shape \[24,32\], this engine's has \[24,16\]/,
      );
    });
  });
});

describe("sample", () => {
  it("gives log-probabilities that forward agrees with, also while gradients are computed", async () => {
    await withEngine({ config, seed: 3, embeddingDeviation: 0.4 }, async (engine) => {
      const requests = Array.from({ length: 6 }, (_, index) =>
        engine.sample({ tokens: [index, 5, 7], maxTokens: 10 + index, seed: index, temperature: 1 }),
      );
      await engine.forwardBackward(randomBatch(1, 16, 60), { name: "cross_entropy" });
      for (const [index, sample] of (await Promise.all(requests)).entries()) {
        const all = Int32Array.from([index, 5, 7, ...sample.tokens]);
        const example = { input: all.slice(0, -1), targets: all.slice(1) };
        const { logprobs } = await engine.forward([example], { name: "cross_entropy" });
        sample.logprobs.forEach((value, at) => {
          assert.ok(Math.abs(value - logprobs[0]![2 + at]!) < 1e-4, `request ${index}, token ${at}`);
        });
      }
    });
  });

  it("draws from the new weights after a step", async () => {
    await withEngine({ config, seed: 3 }, async (engine) => {
      const ask = () => engine.sample({ tokens: [1, 2], maxTokens: 1, temperature: 0 });
      const first = (await ask()).logprobs[0]!;
      await train(engine, 0, 3);
      const { tokens, logprobs } = await ask();
      assert.notEqual(logprobs[0], first);
      const example = { input: Int32Array.of(1, 2), targets: Int32Array.of(2, tokens[0]!) };
      const scored = await engine.forward([example], { name: "cross_entropy" });
      assert.ok(Math.abs(scored.logprobs[0]![1]! - logprobs[0]!) < 1e-4);
    });
  });

  it("keeps to the allowed tokens, reports them as they come, and stops when told", async () => {
    await withEngine({ config, seed: 3 }, async (engine) => {
      const seen: number[] = [];
      const sample = await engine.sample({
        tokens: [1],
        maxTokens: 6,
        seed: 1,
        allowedTokens: (sampled) => (sampled.length % 2 === 0 ? [3, 4] : [9]),
        onToken: (token) => seen.push(token),
      });
      assert.deepEqual(seen, sample.tokens);
      for (const [index, token] of sample.tokens.entries()) {
        assert.ok(index % 2 === 0 ? [3, 4].includes(token) : token === 9);
        assert.ok(index % 2 === 0 ? sample.logprobs[index]! < 0 : Math.abs(sample.logprobs[index]!) < 1e-6);
      }

      const stop = new AbortController();
      const aborted = engine.sample({ tokens: [1], maxTokens: 100, signal: stop.signal, onToken: () => stop.abort() });
      await assert.rejects(aborted, { name: "AbortError" });
      const failing = engine.sample({
        tokens: [1],
        maxTokens: 5,
        allowedTokens: () => {
          throw new Error("no grammar");
        },
      });
      await assert.rejects(failing, /no grammar/);
      await assert.rejects(engine.sample({ tokens: [99], maxTokens: 1 }), /99/);
      assert.equal((await engine.sample({ tokens: [1], maxTokens: 3 })).tokens.length, 3);
    });
  });
});

describe("an adapter", () => {
  it("learns while the base stays, is sampled from, saved and resumed", async () => {
    const state = join(folder, "lora");
    const options = { config, seed: 4, embeddingDeviation: 0.3, lora: { rank: 4, seed: 2 } };
    const batch = randomBatch(1, 2, 8);
    const after = await withEngine(options, async (engine) => {
      assert.equal(engine.capabilities.fullParameter, false);
      const first = lossOf(batch, await engine.forward(batch, { name: "cross_entropy" }));
      for (let step = 0; step < 30; step++) {
        await engine.forwardBackward(batch, { name: "cross_entropy" });
        await engine.optimStep({ learningRate: 2e-2 });
      }
      const last = await engine.forward(batch, { name: "cross_entropy" });
      assert.ok(lossOf(batch, last) < 0.7 * first, `${first} -> ${lossOf(batch, last)}`);
      const [wanted] = batch;
      const greedy = await engine.sample({ tokens: [...wanted!.input.slice(0, 3)], maxTokens: 1, temperature: 0 });
      const example = { input: wanted!.input.slice(0, 3), targets: Int32Array.of(0, 0, greedy.tokens[0]!) };
      const scored = await engine.forward([example], { name: "cross_entropy" });
      assert.ok(Math.abs(scored.logprobs[0]![2]! - greedy.logprobs[0]!) < 1e-4);
      await engine.saveState(state);
      assert.deepEqual((await readdir(state)).includes("model.safetensors"), false, "the base is not repeated");
      await engine.saveModel(join(folder, "merged"));
      await engine.saveAdapter(join(folder, "adapter"));
      return last;
    });
    await withEngine({ ...options, lora: { rank: 4, seed: 9 } }, async (engine) => {
      await engine.loadState(state);
      assert.deepEqual(await engine.forward(batch, { name: "cross_entropy" }), after);
    });
    await withEngine({ ...options, lora: { folder: join(folder, "adapter") } }, async (engine) => {
      assert.deepEqual(await engine.forward(batch, { name: "cross_entropy" }), after);
    });
    await withEngine({ folder: join(folder, "merged") }, async (engine) => {
      const merged = await engine.forward(batch, { name: "cross_entropy" });
      assert.ok(Math.abs(lossOf(batch, merged) - lossOf(batch, after)) < 1e-3);
    });
  });
});

describe("numbers that make no sense", () => {
  it("are refused, each with what it may be", async () => {
    await withEngine({ config, seed: 1 }, async (engine) => {
      const refused = (request: Partial<SampleRequest>, pattern: RegExp) =>
        assert.rejects(engine.sample({ tokens: [1], maxTokens: 2, ...request }), pattern);
      await refused({ topP: 2 }, /topP is 2; it must be above 0 and at most 1/);
      await refused({ topP: 0 }, /topP is 0/);
      await refused({ topK: -1 }, /topK is -1/);
      await refused({ temperature: Number.NaN }, /temperature is NaN/);
      await refused({ maxTokens: 1.5 }, /maxTokens is 1.5/);
      await engine.forwardBackward(randomBatch(1), { name: "cross_entropy" });
      const step = { learningRate: Number.POSITIVE_INFINITY };
      await assert.rejects(engine.optimStep(step), /the learning rate is Infinity; it must be a number of at least 0/);
    });
  });
});

describe("openEmbeddedEngine", () => {
  it("leaves the event loop free while it computes", async () => {
    await withEngine({ config, seed: 2 }, async (engine) => {
      let turns = 0;
      let working = true;
      const turn = () => {
        turns++;
        if (working) setImmediate(turn);
      };
      turn();
      await engine.forwardBackward(randomBatch(1, 64, 100), { name: "cross_entropy" });
      working = false;
      assert.ok(turns > 100, `only ${turns} turns of the event loop`);
    });
  });

  it("says what is wrong with a folder, and rejects calls after close", async () => {
    await assert.rejects(openEmbeddedEngine({ folder: join(folder, "missing") }), /missing/);
    const engine = await openEmbeddedEngine({ config, seed: 1, threads: 1 });
    await engine.close();
    await assert.rejects(engine.forward(randomBatch(1), { name: "cross_entropy" }), /closed/);
  });
});
