import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { naiveForward } from "../../../../test/engine/naive-forward.ts";
import { seededRandom } from "../../../base/work/random.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { createSampler, type Sampler } from "./create-sampler.ts";
import type { SamplerRequest } from "./sampler.ts";

interface Result {
  tokens: number[];
  logprobs: number[];
  finish?: string;
  computedTokens?: number;
  failed?: string;
}

/** Steps until nothing moves and collects what each request got. */
function drain(sampler: Sampler, results = new Map<number, Result>(), mask?: (result: Result) => number[] | undefined) {
  while (!sampler.idle) {
    for (const event of sampler.step()) {
      if (!results.has(event.id)) results.set(event.id, { tokens: [], logprobs: [] });
      const result = results.get(event.id)!;
      if (event.type === "failed") result.failed = event.message;
      if (event.type === "finished")
        Object.assign(result, { finish: event.finish, computedTokens: event.computedTokens });
      if (event.type !== "token") continue;
      result.tokens.push(event.token);
      result.logprobs.push(event.logprob);
      if (mask) sampler.allow(event.id, mask(result));
    }
  }
  return results;
}

const small = modelConfig({
  vocabularySize: 50,
  hiddenSize: 24,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 6,
  intermediateSize: 20,
  maxContext: 128,
});
const smallWeights = initialParameters(small, 3, { embeddingDeviation: 0.5 });
addNoise(smallWeights);

/** Norms of 1 and biases of 0 would hide mistakes. */
function addNoise(parameters: ParameterSet): void {
  const random = seededRandom(9);
  for (const [name, { data }] of parameters)
    if (name.endsWith("norm.weight") || name.endsWith("bias"))
      for (let i = 0; i < data.length; i++) data[i]! += 0.3 * random.normal();
}

function randomTokens(count: number, seed: number, vocabulary = small.vocabularySize): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => Math.floor(random.next() * vocabulary));
}

function checkAgainstNaive(context: readonly number[], result: Result, config = small, weights = smallWeights) {
  const scored = naiveForward(config, weights, [...context, ...result.tokens]);
  for (const [index, token] of result.tokens.entries()) {
    const expected = scored[context.length - 1 + index]![token]!;
    assert.ok(Math.abs(result.logprobs[index]! - expected) < 1e-4, `${result.logprobs[index]} against ${expected}`);
  }
}

describe("createSampler", () => {
  it("gives the log-probabilities of a naive forward pass, whatever the architecture", () => {
    const shapes = [
      small,
      modelConfig({
        architecture: "llama",
        vocabularySize: 31,
        hiddenSize: 16,
        layers: 1,
        heads: 2,
        tieEmbeddings: false,
      }),
      modelConfig({
        vocabularySize: 70,
        hiddenSize: 48,
        layers: 3,
        heads: 3,
        kvHeads: 1,
        headSize: 40,
        ropeTheta: 500,
      }),
      modelConfig({
        architecture: "qwen3",
        vocabularySize: 41,
        hiddenSize: 32,
        layers: 2,
        heads: 4,
        kvHeads: 2,
        headSize: 20,
      }),
    ];
    for (const config of shapes) {
      const weights = initialParameters(config, 8, { embeddingDeviation: 0.4 });
      addNoise(weights);
      const sampler = createSampler(config, weights);
      const context = randomTokens(75, 4, config.vocabularySize);
      sampler.submit({ id: 1, tokens: context, maxTokens: 20, seed: 1 });
      checkAgainstNaive(context, drain(sampler).get(1)!, config, weights);
      sampler.close();
    }
  });

  it("draws the same tokens alone, in any company, on one thread or two, and with a cache that overflows", () => {
    const requests: SamplerRequest[] = Array.from({ length: 23 }, (_, id) => ({
      ...{ id, tokens: randomTokens(1 + ((id * 7) % 90), id), maxTokens: 1 + ((id * 5) % 30), seed: id },
      ...(id % 3 === 0 ? { temperature: 0.7 } : id % 3 === 1 ? { topK: 5, topP: 0.9 } : {}),
    }));
    const alone = new Map<number, Result>();
    for (const request of requests) {
      const sampler = createSampler(small, smallWeights);
      sampler.submit(request);
      drain(sampler, alone);
      sampler.close();
    }
    const tight = 6 * 2 * 2 * 2 * 8 * 32 * 4; // six pages: a full context needs four
    for (const options of [{ threads: 1 }, { threads: 2 }, { maxBatch: 3 }, { cacheBytes: tight }]) {
      const sampler = createSampler(small, smallWeights, options);
      const together = new Map<number, Result>();
      const random = seededRandom(1);
      const later = [...requests].sort(() => random.next() - 0.5);
      while (later.length > 0) {
        sampler.submit(later.pop()!);
        if (random.next() < 0.5) collect(sampler, together);
      }
      drain(sampler, together);
      sampler.close();
      for (const { id } of requests)
        assert.deepEqual(together.get(id), alone.get(id), `${JSON.stringify(options)} ${id}`);
    }
  });

  it("computes only what a paused chain adds, with the same result as from nothing", () => {
    const sampler = createSampler(small, smallWeights);
    const first = randomTokens(40, 1);
    sampler.submit({ id: 1, tokens: first, maxTokens: 10, seed: 5, sessionKey: "chain" });
    const result = drain(sampler).get(1)!;
    assert.equal(result.computedTokens, 40);
    const second = [...first, ...result.tokens, ...randomTokens(13, 2)];
    sampler.submit({ id: 2, tokens: second, maxTokens: 12, seed: 6, sessionKey: "chain" });
    sampler.submit({ id: 3, tokens: second, maxTokens: 12, seed: 6 });
    const later = drain(sampler);
    assert.equal(later.get(2)!.computedTokens, 14); // the last sampled token and the observation
    assert.deepEqual(later.get(2)!.tokens, later.get(3)!.tokens);
    assert.deepEqual(later.get(2)!.logprobs, later.get(3)!.logprobs);
    checkAgainstNaive(second, later.get(2)!);
    const diverged = [...first.slice(0, 35), (first[35]! + 1) % 50, ...randomTokens(19, 7)];
    sampler.submit({ id: 4, tokens: diverged, maxTokens: 5, sessionKey: "chain" });
    const after = drain(sampler).get(4)!;
    assert.equal(after.computedTokens, 20);
    checkAgainstNaive(diverged, after);
    sampler.endSession("chain");
    sampler.submit({ id: 5, tokens: diverged, maxTokens: 1, sessionKey: "chain" });
    assert.equal(drain(sampler).get(5)!.computedTokens, 55);
    sampler.close();
  });

  it("computes the common beginning of samples once, and gives each what it would get alone", () => {
    const prompt = randomTokens(70, 21);
    const requests = Array.from({ length: 8 }, (_, id) => ({
      ...{ id, tokens: id < 6 ? prompt : [...prompt.slice(0, 50), ...randomTokens(9, id)], maxTokens: 6, seed: id },
    }));
    const sampler = createSampler(small, smallWeights);
    for (const request of requests) sampler.submit(request);
    const together = drain(sampler);
    // One whole prompt, a last position for five more, nine for two; then five tokens each are fed back.
    assert.equal(sampler.computedPositions, 70 + 5 + 2 * 9 + 8 * 5);
    sampler.close();
    for (const request of requests) {
      const alone = createSampler(small, smallWeights);
      alone.submit(request);
      assert.deepEqual(together.get(request.id), drain(alone).get(request.id));
      alone.close();
    }
  });

  it("stops after a stop token or sequence, at maxTokens, and at the end of the context", () => {
    const sampler = createSampler(small, smallWeights);
    const context = randomTokens(9, 3);
    const run = (more: Partial<SamplerRequest>) => {
      sampler.submit({ id: 1, tokens: context, maxTokens: 30, temperature: 0, ...more });
      return drain(sampler).get(1)!;
    };
    const free = run({});
    assert.deepEqual([free.tokens.length, free.finish], [30, "length"]);
    const token = free.tokens[4]!;
    const at = free.tokens.indexOf(token);
    assert.deepEqual(run({ stopTokens: [token] }).tokens, free.tokens.slice(0, at + 1));
    const stopped = run({ stopSequences: [free.tokens.slice(10, 13)] });
    assert.equal(stopped.finish, "stop");
    assert.deepEqual(stopped.tokens.slice(-3), free.tokens.slice(10, 13));
    const long = run({ tokens: randomTokens(125, 3) });
    assert.deepEqual([long.tokens.length, long.finish], [4, "length"]); // positions 125, 126, 127 and one beyond
    sampler.close();
  });

  it("draws with the frequencies its log-probabilities claim", () => {
    const sampler = createSampler(small, smallWeights);
    const context = randomTokens(6, 2);
    for (const options of [
      {},
      { temperature: 0.5 },
      { topK: 4 },
      { topP: 0.6 },
      { topK: 7, topP: 0.8, temperature: 1.5 },
    ]) {
      const counts = new Map<number, { seen: number; probability: number }>();
      const draws = 4000;
      for (let id = 0; id < draws; id++) sampler.submit({ id, tokens: context, maxTokens: 1, seed: id, ...options });
      for (const { tokens, logprobs } of drain(sampler).values()) {
        const entry = counts.get(tokens[0]!) ?? { seen: 0, probability: Math.exp(logprobs[0]!) };
        counts.set(tokens[0]!, { ...entry, seen: entry.seen + 1 });
      }
      for (const { seen, probability } of counts.values()) {
        const deviation = Math.sqrt(draws * probability * (1 - probability)) + 1;
        assert.ok(Math.abs(seen - draws * probability) < 4.5 * deviation, `${seen} of ${draws * probability}`);
      }
      const total = [...counts.values()].reduce((sum, { probability }) => sum + probability, 0);
      assert.ok(total <= 1 + 1e-5 && total > 0.99, `${total}`);
      if ("topK" in options) assert.ok(counts.size <= options.topK!);
    }
    sampler.close();
  });

  it("draws only what a mask allows and renormalises, waiting for each mask while others go on", () => {
    const sampler = createSampler(small, smallWeights);
    const context = randomTokens(5, 11);
    const allowed = (count: number) => [3, 8, 20].map((id) => id + count);
    sampler.submit({ id: 1, tokens: context, maxTokens: 6, seed: 2, masked: true });
    sampler.submit({ id: 2, tokens: context, maxTokens: 3, seed: 2 });
    const before = drain(sampler);
    assert.equal(before.get(2)!.tokens.length, 3);
    assert.equal(before.has(1), false);
    sampler.allow(1, allowed(0));
    const result = drain(sampler, new Map(), ({ tokens }) => allowed(tokens.length)).get(1)!;
    const scored = naiveForward(small, smallWeights, [...context, ...result.tokens]);
    for (const [index, token] of result.tokens.entries()) {
      assert.ok(allowed(index).includes(token));
      const row = scored[context.length - 1 + index]!;
      const total = Math.log(allowed(index).reduce((sum, id) => sum + Math.exp(row[id]!), 0));
      assert.ok(Math.abs(result.logprobs[index]! - (row[token]! - total)) < 1e-4);
    }
    sampler.submit({ id: 3, tokens: context, maxTokens: 6, masked: true });
    sampler.allow(3, []);
    assert.match(drain(sampler).get(3)!.failed!, /allows no token/);
    sampler.close();
  });

  it("follows the weights when they change, mid-sequence too", () => {
    const weights = initialParameters(small, 3, { embeddingDeviation: 0.5 });
    const sampler = createSampler(small, weights);
    const context = randomTokens(20, 5);
    sampler.submit({ id: 1, tokens: context, maxTokens: 8, seed: 1, sessionKey: "s" });
    const early = new Map<number, Result>();
    for (let step = 0; step < 4; step++) collect(sampler, early);
    const { tokens } = early.get(1)!;
    for (const [name, { data }] of smallWeights) weights.get(name)!.data.set(data);
    sampler.weightsChanged();
    const late = drain(sampler).get(1)!;
    checkAgainstNaive([...context, ...tokens], late);
    sampler.submit({ id: 2, tokens: context, maxTokens: 5, sessionKey: "s" });
    checkAgainstNaive(context, drain(sampler).get(2)!);
    sampler.close();
  });

  it("refuses what can't run and survives cancelling", () => {
    const sampler = createSampler(small, smallWeights);
    assert.throws(
      () => sampler.submit({ id: 1, tokens: [50], maxTokens: 1 }),
      /token 50 is not in the vocabulary of 50/,
    );
    assert.throws(() => sampler.submit({ id: 1, tokens: [], maxTokens: 1 }), /empty/);
    assert.throws(() => sampler.submit({ id: 1, tokens: randomTokens(129, 1), maxTokens: 1 }), /129 tokens.*128/);
    sampler.submit({ id: 1, tokens: [1, 2], maxTokens: 5 });
    sampler.submit({ id: 2, tokens: [1, 2], maxTokens: 5 });
    sampler.step();
    sampler.cancel(1);
    sampler.cancel(77);
    const results = drain(sampler);
    assert.deepEqual([...results.keys()], [2]);
    const broken = initialParameters(small, 1);
    broken.get("model.norm.weight")!.data[3] = Number.NaN;
    const bad = createSampler(small, broken);
    for (const [id, temperature] of [0, 1].entries()) bad.submit({ id, tokens: [1], maxTokens: 3, temperature });
    for (const result of drain(bad).values()) assert.match(result.failed!, /weights are broken/);
    sampler.close();
    bad.close();
  });
});

/** One step's events, appended to results. */
function collect(sampler: Sampler, results: Map<number, Result>) {
  for (const event of sampler.step()) {
    const result = results.get(event.id) ?? { tokens: [], logprobs: [] };
    results.set(event.id, result);
    if (event.type === "token") {
      result.tokens.push(event.token);
      result.logprobs.push(event.logprob);
    } else if (event.type === "finished")
      Object.assign(result, { finish: event.finish, computedTokens: event.computedTokens });
  }
}
