import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import type { Sample, SampleRequest } from "../../../core/engine.ts";
import { type EmbeddedEngine, openEmbeddedEngine } from "../embedded-engine.ts";
import { loadModelFolder, saveModelFolder } from "../files/model-folder.ts";
import { modelConfig } from "../model/config.ts";

const config = modelConfig({ vocabularySize: 300, hiddenSize: 64, layers: 3, heads: 4, kvHeads: 2, maxContext: 256 });
const random = seededRandom(2);
const randomTokens = (count: number) => Array.from({ length: count }, () => Math.floor(random.next() * 300));

let engine: EmbeddedEngine;
before(async () => {
  engine = await openEmbeddedEngine({ config, seed: 4, copyInit: true, threads: 2 });
});
after(() => engine.close());

/** The largest difference between the log-probabilities of a sample and those the training graph gives. */
async function worstDifference(context: readonly number[], sample: Sample, scorer = engine): Promise<number> {
  const all = Int32Array.from([...context, ...sample.tokens]);
  const example = { input: all.slice(0, -1), targets: all.slice(1), weights: new Float32Array(all.length - 1).fill(1) };
  const scored = (await scorer.forward([example], { name: "cross_entropy" })).logprobs[0]!;
  return sample.logprobs.reduce(
    (worst, logprob, index) => Math.max(worst, Math.abs(logprob - scored[context.length - 1 + index]!)),
    0,
  );
}

describe("sampling and scoring", () => {
  it("agree about the weights rounded to 8 bits where the sampler holds them so; such an engine is not trained", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-8bit-"));
    const [exact, rounded] = [join(folder, "exact"), join(folder, "rounded")];
    await engine.saveModel(exact);
    const model = await loadModelFolder(exact);
    for (const { shape, data } of model.parameters.values()) {
      const inputs = shape.length === 2 ? shape[1]! : 0;
      for (let start = 0; inputs > 0 && start < data.length; ) {
        const group = data.subarray(start, start + Math.min(64, inputs - (start % inputs)));
        const scale = Math.max(1e-20, ...group.map(Math.abs)) / 127;
        for (const [index, value] of group.entries()) group[index] = scale * Math.round(value / scale);
        start += group.length;
      }
    }
    await saveModelFolder(rounded, model);
    const sampler = await openEmbeddedEngine({ folder: exact, precision: "8bit", threads: 2 });
    const scorer = await openEmbeddedEngine({ folder: rounded, threads: 1 });
    const contexts = [3, 70, 131].map(randomTokens);
    const samples = await Promise.all(contexts.map((tokens) => sampler.sample({ tokens, maxTokens: 20, seed: 1 })));
    for (const [index, sample] of samples.entries()) {
      const apart = await worstDifference(contexts[index]!, sample, scorer);
      assert.ok(apart < 2e-3, `${apart}`);
      const alone = await sampler.sample({ tokens: contexts[index]!, maxTokens: 20, seed: 1 });
      assert.deepEqual(alone.logprobs, sample.logprobs);
    }
    await assert.rejects(sampler.optimStep({ learningRate: 1e-3 }), /8bit.*can't be trained/);
    await Promise.all([sampler.close(), scorer.close()]);
    await rm(folder, { recursive: true });
  });

  it("agree within 1e-4 in batches of any composition, with chains that pause", async () => {
    const chains = Array.from({ length: 12 }, (_, index) => ({
      tokens: randomTokens(3 + index * 9),
      key: `chain ${index}`,
    }));
    await Promise.all(
      chains.map(async (chain, index) => {
        for (let turn = 0; turn < 3; turn++) {
          const sample = await engine.sample({
            tokens: chain.tokens,
            maxTokens: 5 + index,
            seed: index,
            sessionKey: chain.key,
          });
          const expected = turn === 0 ? chain.tokens.length : 1 + 4 + turn;
          assert.equal(sample.computedTokens, expected);
          assert.ok((await worstDifference(chain.tokens, sample)) < 1e-4);
          chain.tokens = [...chain.tokens, ...sample.tokens, ...randomTokens(5 + turn)];
        }
      }),
    );
  });

  it("agree about the entropy at each token, where it is asked for", async () => {
    const context = randomTokens(12);
    const candidates = Array.from({ length: 300 }, (_, token) => {
      const all = Int32Array.from([...context, token]);
      return { input: all.slice(0, -1), targets: all.slice(1), weights: new Float32Array(context.length).fill(1) };
    });
    const { logprobs } = await engine.forward(candidates, { name: "cross_entropy" });
    const expected = logprobs.reduce((sum, row) => sum - Math.exp(row.at(-1)!) * row.at(-1)!, 0);
    const allowedTokens = () => candidates.map((_, token) => token);
    for (const how of [{ temperature: 1 }, { temperature: 0 }, { temperature: 1, allowedTokens }]) {
      const heard: (number | undefined)[] = [];
      const onToken = (_token: number, _logprob: number, entropy?: number) => heard.push(entropy);
      const sample = await engine.sample({ tokens: context, maxTokens: 3, entropies: true, onToken, ...how });
      assert.ok(Math.abs(sample.entropies![0]! - expected) < 1e-3, `${sample.entropies![0]} ${expected}`);
      assert.deepEqual(heard, sample.entropies);
    }
    assert.equal((await engine.sample({ tokens: context, maxTokens: 1 })).entropies, undefined);
  });

  it("agree after an update of the weights", async () => {
    const context = randomTokens(30);
    const before = await engine.sample({ tokens: context, maxTokens: 8, temperature: 0, sessionKey: "s" });
    const all = Int32Array.from([...context, ...randomTokens(40)]);
    const example = {
      input: all.slice(0, -1),
      targets: all.slice(1),
      weights: new Float32Array(all.length - 1).fill(1 / 60),
    };
    for (let step = 0; step < 5; step++) {
      await engine.forwardBackward([example], { name: "cross_entropy" });
      await engine.optimStep({ learningRate: 0.01 });
    }
    const later = await engine.sample({ tokens: context, maxTokens: 8, temperature: 0, sessionKey: "s" });
    assert.equal(later.computedTokens, 30); // caches of old weights are not used
    assert.ok((await worstDifference(context, later)) < 1e-4);
    assert.ok((await worstDifference(context, before)) > 1e-3);
  });

  it("goes through masks, callbacks, aborts and errors of one request without disturbing another", async () => {
    const seen: number[] = [];
    const request: SampleRequest = {
      tokens: [1, 2, 3],
      maxTokens: 10,
      seed: 1,
      allowedTokens: (sampled) => [sampled.length, 100 + sampled.length],
      onToken: (token) => seen.push(token),
    };
    const controller = new AbortController();
    const [masked, free, aborted, thrown] = await Promise.allSettled([
      engine.sample(request),
      engine.sample({ tokens: [1, 2, 3], maxTokens: 10, seed: 1 }),
      engine.sample({ tokens: [5], maxTokens: 200, signal: controller.signal, onToken: () => controller.abort() }),
      engine.sample({
        ...{ tokens: [1], maxTokens: 3 },
        allowedTokens: () => {
          throw new Error("no grammar");
        },
      }),
    ]);
    assert.ok(masked.status === "fulfilled" && free.status === "fulfilled");
    assert.deepEqual(masked.value.tokens, seen);
    assert.ok(masked.value.tokens.every((token, index) => token === index || token === 100 + index));
    assert.deepEqual(free.value, await engine.sample({ tokens: [1, 2, 3], maxTokens: 10, seed: 1 }));
    assert.equal(aborted.status === "rejected" && aborted.reason.name, "AbortError");
    assert.match(thrown.status === "rejected" ? String(thrown.reason) : "", /no grammar/);
    await assert.rejects(engine.sample({ tokens: [300], maxTokens: 1 }), /token 300 is not in the vocabulary/);
  });
});
