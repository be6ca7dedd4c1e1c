/** What every engine's policies must do; part of `engineConformance`. */
import assert from "node:assert/strict";
import type { Engine, Sample } from "../core/engine.ts";
import { batchFor, closeTo, type EngineCheck } from "./engine-check.ts";

const step = { learningRate: 0.05 };
const context = [1, 2];

/** Checks of `publish` and of what is sampled. */
export const samplingChecks: Record<string, EngineCheck> = {
  "publishes weights with the number of steps they have seen, and samples from what was published": async (
    engine,
    { tolerance },
  ) => {
    const first = await engine.publish();
    const ask = { tokens: context, maxTokens: 6, seed: 3 };
    const before = await first.sample(ask);
    await agrees(engine, before, tolerance);
    await engine.forwardBackward(batchFor(engine, 1), { name: "cross_entropy" });
    await engine.optimStep(step);
    const still = await first.sample(ask);
    assert.deepEqual([still.tokens, still.policyVersion], [before.tokens, before.policyVersion]);
    const second = await engine.publish();
    assert.equal(second.version, first.version + 1);
    const after = await second.sample(ask);
    assert.equal(after.policyVersion, second.version);
    assert.notDeepEqual(after.logprobs, before.logprobs);
    await agrees(engine, after, tolerance);
  },

  "samples with log-probabilities that forward agrees with, at any temperature it can train at": async (
    engine,
    { tolerance },
  ) => {
    const { losses, logprobs } = engine.capabilities;
    const policy = await engine.publish();
    const tempered = logprobs === "sampled" && losses.cross_entropy?.options.includes("temperature");
    for (const temperature of tempered ? [1, 0.7, 1.5] : [1]) {
      const sample = await policy.sample({ tokens: context, maxTokens: 8, seed: 5, temperature });
      await agrees(engine, sample, tolerance, temperature);
    }
  },

  "gives the same sample for the same seed, and the seeds of n samples in a row": async (engine) => {
    const policy = await engine.publish();
    const ask = { tokens: context, maxTokens: 5, seed: 11 };
    const three = await policy.sampleMany(ask, 3);
    assert.equal(three.length, 3);
    for (const [at, sample] of three.entries())
      assert.deepEqual((await policy.sample({ ...ask, seed: 11 + at })).tokens, sample.tokens);
  },

  "takes the likeliest token at temperature 0": async (engine) => {
    const policy = await engine.publish();
    const [a, b] = [1, 2].map((seed) => policy.sample({ tokens: context, maxTokens: 4, temperature: 0, seed }));
    assert.deepEqual((await a!).tokens, (await b!).tokens);
  },

  "stops at a stop token and at the length it was given": async (engine) => {
    const policy = await engine.publish();
    const free = await policy.sample({ tokens: context, maxTokens: 6, temperature: 0 });
    assert.deepEqual([free.tokens.length, free.finish], [6, "length"]);
    const stop = free.tokens[1]!;
    const stopped = await policy.sample({ tokens: context, maxTokens: 6, temperature: 0, stopTokens: [stop] });
    assert.equal(stopped.finish, "stop");
    assert.deepEqual(stopped.tokens, free.tokens.slice(0, free.tokens.indexOf(stop) + 1));
  },

  "stops after a sequence of ids": async (engine) => {
    const policy = await engine.publish();
    const ask = { tokens: context, maxTokens: 6, temperature: 0 };
    const free = await policy.sample(ask);
    const sequence = free.tokens.slice(1, 3);
    const stopped = await policy.sample({ ...ask, stopSequences: [[...sequence, 0, 0], sequence] });
    assert.equal(stopped.finish, "stop");
    assert.deepEqual(stopped.tokens, free.tokens.slice(0, stopped.tokens.length));
    assert.deepEqual(stopped.tokens.slice(-2), sequence);
    assert.ok(stopped.tokens.length <= 3);
  },

  "keeps to the allowed tokens where it takes masks": async (engine) => {
    if (!engine.capabilities.tokenMasks) return;
    const policy = await engine.publish();
    const allowedTokens = (sampled: readonly number[]) => (sampled.length % 2 === 0 ? [0, 3] : [1]);
    const { tokens, logprobs } = await policy.sample({ tokens: context, maxTokens: 4, seed: 1, allowedTokens });
    tokens.forEach((token, at) => {
      assert.ok(at % 2 === 0 ? [0, 3].includes(token) : token === 1, `token ${token} at ${at}`);
      if (at % 2 === 1) closeTo([logprobs[at]!], [0], 1e-6);
    });
  },

  "ends a sample whose signal aborts": async (engine) => {
    const policy = await engine.publish();
    const aborted = policy.sample({ tokens: context, maxTokens: 4, signal: AbortSignal.abort() });
    await assert.rejects(aborted, { name: "AbortError" });
  },
};

async function agrees(engine: Engine, sample: Sample, tolerance: number, temperature = 1): Promise<void> {
  const tokens = Int32Array.from([...context, ...sample.tokens]);
  const example = { input: tokens.slice(0, -1), targets: tokens.slice(1) };
  const weights = new Float32Array(example.input.length).fill(1);
  const loss = { name: "cross_entropy" as const, ...(temperature === 1 ? {} : { temperature }) };
  const { logprobs } = await engine.forward([{ ...example, weights }], loss);
  closeTo(sample.logprobs, [...logprobs[0]!.slice(context.length - 1)], tolerance);
}
