import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { naiveForward } from "../../../../test/engine/naive-forward.ts";
import { testSize } from "../../../../test/fixtures/test-size.ts";
import { totalLoss } from "../../../base/count/policy-loss.ts";
import { type SeededRandom, seededRandom } from "../../../base/work/random.ts";
import type { Example, LossSpec } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import { createAdapter, mergedParameters } from "../lora/adapter.ts";
import { type ModelConfig, modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { openRuntime } from "../runtime/runtime.ts";
import { shareParameters } from "../shared-base.ts";
import { createTrainer, type Trainer } from "./create-trainer.ts";
import type { Lanes } from "./gradient-lane.ts";
import { layOutBatches } from "./lay-out-batches.ts";

const runtime = openRuntime({ threads: 2 });

const models = {
  "qwen2, shared keys, tied": modelConfig({
    vocabularySize: 13,
    hiddenSize: 16,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    intermediateSize: 24,
    maxContext: 256,
  }),
  "llama 3.1": {
    ...modelConfig({
      architecture: "llama",
      vocabularySize: 11,
      hiddenSize: 16,
      layers: 1,
      heads: 2,
      intermediateSize: 20,
      ropeTheta: 100,
      maxContext: 256,
    }),
    ropeScaling: { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 32 },
  },
  qwen3: modelConfig({
    architecture: "qwen3",
    vocabularySize: 11,
    hiddenSize: 16,
    layers: 2,
    heads: 2,
    kvHeads: 1,
    headSize: 8,
    intermediateSize: 20,
    ropeTheta: 100,
    maxContext: 64,
  }),
  "llama, untied": modelConfig({
    architecture: "llama",
    vocabularySize: 11,
    hiddenSize: 12,
    layers: 2,
    heads: 2,
    intermediateSize: 20,
    tieEmbeddings: false,
    maxContext: 64,
  }),
};
const losses: LossSpec[] = [
  { name: "cross_entropy" },
  { name: "importance_sampling" },
  { name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  { name: "cispo", clipLow: 1, clipHigh: 3 },
  { name: "importance_sampling", temperature: 0.7 },
  // Not 0.7: there one ratio stands at the edge of the clip, where the loss has no derivative.
  { name: "ppo", clipLow: 0.2, clipHigh: 0.28, temperature: 0.75 },
];

function randomExamples(vocabulary: number, lengths: number[], seed: number): Example[] {
  const random = seededRandom(seed);
  return lengths.map((length) => {
    const ids = Int32Array.from({ length: length + 1 }, () => Math.floor(random.next() * vocabulary));
    return {
      input: ids.slice(0, -1),
      targets: ids.slice(1),
      weights: Float32Array.from({ length }, () => (random.next() < 0.3 ? 0 : random.next())),
      advantages: Float32Array.from({ length }, () => (random.next() < 0.3 ? 0 : random.normal())),
      oldLogprobs: Float32Array.from({ length }, () => -Math.log(vocabulary) + 0.4 * random.normal()),
    };
  });
}

/** Weights far enough from zero that every tensor matters. */
function livelyParameters(config: (typeof models)[keyof typeof models]): ParameterSet {
  const parameters = initialParameters(config, 5, { embeddingDeviation: 0.5 });
  const random = seededRandom(6);
  for (const { data } of parameters.values()) for (let i = 0; i < data.length; i++) data[i]! += 0.1 * random.normal();
  return parameters;
}

/**
 * Three rollouts of one prompt, as reinforcement has them: the same 18 tokens without a weight, then some with and some
 * without, and a tail that teaches nothing.
 */
function chainExamples(vocabulary: number, seed: number): Example[] {
  const random = seededRandom(seed);
  const prompt = Int32Array.from({ length: 18 }, () => Math.floor(random.next() * vocabulary));
  return randomExamples(vocabulary, [24, 22, 29], seed + 1).map((example) => {
    example.input.set(prompt);
    example.targets.set(prompt.subarray(1));
    for (const list of [example.weights!, example.advantages!]) {
      list.fill(0, 0, prompt.length - 1);
      list[prompt.length - 1] = 0.5;
      list.fill(0, example.input.length - 2);
    }
    return example;
  });
}

/** Four chains after one prompt of 151 tokens, long enough for several attention blocks in every part. */
function longChains(vocabulary: number): Example[] {
  const random = seededRandom(21);
  const prompt = Int32Array.from({ length: 151 }, () => Math.floor(random.next() * vocabulary));
  return randomExamples(vocabulary, [256, 240, 200, 251], 22).map((example) => {
    example.input.set(prompt);
    example.targets.set(prompt.subarray(1));
    example.weights!.fill(0, 0, 150).fill(1, 150, 190);
    return example;
  });
}

/** Log-probabilities of the whole vocabulary after each token, in plain loops and double precision. */
type ExactRows = Float64Array[][]; // [example][position][token]

function exactRows(config: ModelConfig, parameters: ParameterSet, examples: readonly Example[]): ExactRows {
  return examples.map(({ input }) => naiveForward(config, parameters, [...input]));
}

/** Those of the targets, at a temperature. */
function exactLogprobs(rows: ExactRows, examples: readonly Example[], temperature = 1): Float64Array[] {
  return examples.map(({ targets }, number) =>
    Float64Array.from(targets, (target, position) => {
      const logits = rows[number]![position]!.map((value) => value / temperature);
      return logits[target]! - Math.log(logits.reduce((sum, value) => sum + Math.exp(value), 0));
    }),
  );
}

function exactLoss(rows: ExactRows, examples: readonly Example[], loss: LossSpec): number {
  const logprobs = exactLogprobs(rows, examples, loss.temperature);
  return totalLoss(examples, loss, logprobs as unknown as Float32Array[]);
}

/** A copy in double precision, so that a parameter can be moved by very little. */
function doublePrecision(parameters: ParameterSet): ParameterSet {
  const copy = [...parameters].map(([name, { shape, data }]) => {
    return [name, { shape, data: Float64Array.from(data) as unknown as Float32Array }] as const;
  });
  return new Map(copy);
}

/** Half uphill, half anywhere. */
function directionAlong(gradient: Float32Array, random: SeededRandom): Float64Array {
  const unit = (values: Float64Array) => {
    const length = Math.hypot(...values) || 1;
    return values.map((value) => value / length);
  };
  const anywhere = unit(Float64Array.from(gradient, () => random.normal()));
  return unit(unit(Float64Array.from(gradient)).map((value, index) => value + anywhere[index]!));
}

/** A pass of the trainer, and what it was asked for. */
interface Pass {
  examples: readonly Example[];
  loss: LossSpec;
  gradients: ReadonlyMap<string, Float32Array>;
}

async function pass(trainer: Trainer, examples: readonly Example[], loss: LossSpec): Promise<Pass> {
  await trainer.forwardBackward(examples, loss);
  const gradients = new Map([...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()]));
  trainer.clearGradients();
  return { examples, loss, gradients };
}

/** Compares every tensor's gradients with central differences in double precision, 1e-5 of their length. */
function agreeWithDifferences(moved: ParameterSet, passes: readonly Pass[], rowsNow: () => ExactRows): void {
  const random = seededRandom(9);
  for (const [name, { data }] of moved) {
    const direction = directionAlong(passes[0]!.gradients.get(name)!, random);
    const start = data.slice();
    const at = (step: number) => {
      for (let index = 0; index < data.length; index++) data[index] = start[index]! + step * direction[index]!;
      return rowsNow();
    };
    const step = 1e-4;
    const [above, below] = [at(step), at(-step)];
    data.set(start);
    for (const { examples, loss, gradients } of passes) {
      const measured = (exactLoss(above, examples, loss) - exactLoss(below, examples, loss)) / (2 * step);
      const gradient = gradients.get(name)!;
      const expected = gradient.reduce((total, value, index) => total + value * direction[index]!, 0);
      const error = Math.abs(measured - expected) / Math.max(Math.hypot(...gradient), 1e-3);
      assert.ok(
        error < 1e-5,
        `${name}, ${loss.name}: ${expected} by the graph, ${measured} by differences, off ${error}`,
      );
    }
  }
}

describe("gradients of the whole model", () => {
  for (const [title, config] of Object.entries(models)) {
    it(`equal double precision for every parameter and loss: ${title}`, async () => {
      const parameters = livelyParameters(config);
      const exact = doublePrecision(parameters);
      const trainer = createTrainer({ config, parameters, runtime });
      // Chains that share a prompt take another way through the graph than examples that share nothing.
      const all = [...chainExamples(config.vocabularySize, 8), ...randomExamples(config.vocabularySize, [7, 3], 8)];
      const rows = exactRows(config, exact, all);
      const passes: Pass[] = [];
      for (const loss of losses) {
        const examples = loss.name === "cispo" ? freezeRatios(all, exactLogprobs(rows, all)) : all;
        passes.push(await pass(trainer, examples, loss));
        assert.deepEqual(new Set(passes.at(-1)!.gradients.keys()), new Set(parameters.keys()));
      }
      agreeWithDifferences(exact, passes, () => exactRows(config, exact, all));
      await trainer.close();
    });
  }

  it("are the same bits where layers are computed again, and where the embedding is frozen and has none", async () => {
    for (const config of Object.values(models)) {
      const all = config.maxContext > 200 ? longChains(config.vocabularySize) : chainExamples(config.vocabularySize, 8);
      for (const adapter of [undefined, createAdapter(config, { rank: 2 }, 3)]) {
        const parameters = livelyParameters(config);
        const gradientsWith = async (more: object) => {
          const trainer = createTrainer({ config, parameters, runtime, adapter, ...more });
          const { gradients } = await pass(trainer, all, { name: "cross_entropy" });
          await trainer.close();
          return gradients;
        };
        const kept = await gradientsWith({});
        assert.deepEqual(await gradientsWith({ keptBytes: 0 }), kept);
        if (adapter) continue;
        const frozen = await gradientsWith({ freezeEmbeddings: true });
        for (const [name, gradient] of frozen) assert.deepEqual(gradient, kept.get(name), name);
        assert.deepEqual([...kept.keys()].filter((name) => !frozen.has(name)).sort(), [
          ...(config.tieEmbeddings ? [] : ["lm_head.weight"]),
          "model.embed_tokens.weight",
        ]);
      }
    }
  });

  it("of an adapter agree too, and the base gets none", async () => {
    const config = models["qwen2, shared keys, tied"];
    const parameters = livelyParameters(config);
    const adapter = createAdapter(config, { rank: 2 }, 3);
    const random = seededRandom(4);
    for (const { data } of adapter.parameters.values())
      for (let i = 0; i < data.length; i++) data[i] = 0.2 * random.normal();
    const trainer = createTrainer({ config, parameters, runtime, adapter });
    const examples = chainExamples(config.vocabularySize, 8);
    const found = await pass(trainer, examples, { name: "cross_entropy" });
    assert.deepEqual(new Set(found.gradients.keys()), new Set(adapter.parameters.keys()));
    const exact = { base: doublePrecision(parameters), adapter: doublePrecision(adapter.parameters) };
    agreeWithDifferences(exact.adapter, [found], () =>
      exactRows(config, mergedParameters(exact.base, { ...adapter, parameters: exact.adapter }), examples),
    );
    await trainer.close();
  });
});

/**
 * CISPO stops the gradient at its ratio, which differences can't do; with every ratio held at the same bound both agree.
 */
function freezeRatios(examples: readonly Example[], logprobs: Float64Array[]): Example[] {
  return examples.map((example, number) => ({
    ...example,
    oldLogprobs: Float32Array.from(logprobs[number]!, (value) => value - 3),
  }));
}

describe("forward", () => {
  it("gives the log-probabilities of a naive loop, whatever shares the batch and however it is cut", async () => {
    for (const config of Object.values(models)) {
      const parameters = livelyParameters(config);
      const lengths = config.maxContext > 200 ? [1, 5, 40, 130, 131, 200] : [1, 5, 40];
      const examples = randomExamples(config.vocabularySize, lengths, 3);
      for (const maxBatchTokens of [64, 4096]) {
        const trainer = createTrainer({ config, parameters, runtime, maxBatchTokens });
        const { logprobs } = await trainer.forward(examples, { name: "cross_entropy" });
        examples.forEach((example, number) => {
          const rows = naiveForward(config, parameters, [...example.input]);
          rows.forEach((logits, position) => {
            const top = Math.max(...logits);
            const total = top + Math.log(logits.reduce((sum, value) => sum + Math.exp(value - top), 0));
            const expected = logits[example.targets[position]!]! - total;
            const error = Math.abs(expected - logprobs[number]![position]!);
            assert.ok(error < 1e-4, `example ${number}, token ${position}: off by ${error}`);
          });
        });
        await trainer.close();
      }
    }
  });

  it("names the example and token it can't read", async () => {
    const config = models["llama, untied"];
    const trainer = createTrainer({ config, parameters: livelyParameters(config), runtime });
    const bad = { input: Int32Array.of(1, 99), targets: Int32Array.of(2, 3) };
    await assert.rejects(trainer.forward([bad], { name: "cross_entropy" }), /example 0: input\[1\] is 99/);
    await assert.rejects(
      trainer.forward([{ ...bad, input: Int32Array.of(1) }], { name: "cross_entropy" }),
      /targets has 2/,
    );
    await assert.rejects(
      trainer.forward([{ input: Int32Array.of(1), targets: Int32Array.of(1) }], losses[2]!),
      /needs advantages/,
    );
    await assert.rejects(
      trainer.forward([], { name: "ppo", clipLow: 0.8, clipHigh: -0.2 }),
      /distances from a ratio of 1/,
    );
    await trainer.close();
  });
});

describe("forwardBackward", () => {
  it("sums gradients over calls and over groups", async () => {
    const config = models["qwen2, shared keys, tied"];
    const parameters = livelyParameters(config);
    const examples = randomExamples(config.vocabularySize, [30, 4, 17, 25, 9], 12);
    const whole = createTrainer({ config, parameters, runtime });
    await whole.forwardBackward(examples, { name: "cross_entropy" });
    const parts = createTrainer({ config, parameters, runtime, maxBatchTokens: 32 });
    await parts.forwardBackward(examples.slice(0, 2), { name: "cross_entropy" });
    await parts.forwardBackward(examples.slice(2), { name: "cross_entropy" });
    for (const [name, gradient] of whole.gradients()) {
      const other = parts.gradients().get(name)!;
      const scale = Math.hypot(...gradient);
      for (const [i, value] of gradient.entries()) assert.ok(Math.abs(value - other[i]!) < 1e-5 * scale, name);
    }
    await Promise.all([whole.close(), parts.close()]);
  });

  it("does not depend on how many pieces the logits are computed in", async () => {
    for (const config of Object.values(models)) {
      const parameters = livelyParameters(config);
      const examples = randomExamples(config.vocabularySize, [30, 4, 17], 12);
      // Some of the four pieces stay empty.
      const [whole, pieces] = [1, 4].map((headChunks) =>
        createTrainer({ config, parameters, runtime, headChunks, chunkRows: 20 }),
      );
      const expected = await whole!.forwardBackward(examples, losses[2]!);
      const found = await pieces!.forwardBackward(examples, losses[2]!);
      const [a, b] = [expected, found].map(({ logprobs }) => totalLoss(examples, losses[2]!, logprobs));
      assert.ok(Math.abs(a! - b!) < 1e-4);
      const scored = (await pieces!.forward(examples, losses[2]!)).logprobs;
      scored.forEach((row, number) => {
        const taught = row.map((logprob, at) => (examples[number]!.advantages![at] === 0 ? 0 : logprob));
        assert.deepEqual(found.logprobs[number], taught);
      });
      for (const [name, gradient] of whole!.gradients()) {
        const scale = Math.hypot(...gradient);
        const other = pieces!.gradients().get(name)!;
        for (const [i, value] of gradient.entries()) assert.ok(Math.abs(value - other[i]!) < 1e-5 * scale, name);
      }
      await Promise.all([whole!.close(), pieces!.close()]);
    }
  });

  it("computes a shared prompt once and only what is taught, with the log-probabilities and gradients of each alone", async () => {
    const config = models["qwen2, shared keys, tied"];
    const parameters = livelyParameters(config);
    const examples = longChains(config.vocabularySize);
    const loss: LossSpec = { name: "cross_entropy" };
    const factors = examples.map((example) => example.weights!);
    const shapes = layOutBatches(examples, factors, { maxTokens: 4096, everyLogprob: false }).map(
      ({ feeds }) => feeds.shape,
    );
    assert.deepEqual(
      shapes.map(({ trunk, rows }) => ({ trunk, rows })),
      [{ trunk: 150, rows: 4 }],
    );
    const trainer = createTrainer({ config, parameters, runtime });
    const together = await trainer.forwardBackward(examples, loss);
    const gradients = new Map([...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()]));
    trainer.clearGradients();
    const { logprobs } = await trainer.forward(examples, loss);
    for (const [number, example] of examples.entries()) {
      await trainer.forwardBackward([example], loss, { everyLogprob: true });
      example.weights!.forEach((weight, at) => {
        const found = together.logprobs[number]![at]!;
        if (weight === 0) assert.equal(found, 0);
        else assert.ok(Math.abs(found - logprobs[number]![at]!) < 1e-5);
      });
    }
    for (const [name, gradient] of trainer.gradients()) {
      const apart = Math.hypot(...gradient.map((value, index) => value - gradients.get(name)![index]!));
      assert.ok(apart < 1e-5 * Math.hypot(...gradient), `${name}: ${apart}`);
    }
    await trainer.close();
  });

  it("gives every log-probability where asked, and steps by nothing where nothing is taught", async () => {
    const config = models.qwen3;
    const parameters = livelyParameters(config);
    const trainer = createTrainer({ config, parameters, runtime, headChunks: 8 });
    const [example] = randomExamples(config.vocabularySize, [12], 3);
    const every = await trainer.forwardBackward([example!], { name: "cross_entropy" }, { everyLogprob: true });
    assert.deepEqual(every, await trainer.forward([example!], { name: "cross_entropy" }));
    trainer.clearGradients();
    const before = structuredClone(parameters);
    const silent = { ...example!, weights: new Float32Array(12) };
    assert.deepEqual(await trainer.forwardBackward([silent], { name: "cross_entropy" }), {
      logprobs: [new Float32Array(12)],
    });
    assert.deepEqual(await trainer.optimStep({ learningRate: 0.1 }), { gradientNorm: 0 });
    assert.deepEqual(parameters, before);
    await trainer.close();
  });

  it("is bit for bit the same in many runs on 2 threads and in 2 lanes, and the same up to rounding on 1, at a realistic size", async () => {
    const config = modelConfig({
      vocabularySize: 512,
      hiddenSize: 128,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      intermediateSize: 352,
    });
    const parameters = shareParameters(initialParameters(config, 1, { copyInit: true }));
    // Few distinct ids: many rows of the embedding's gradient are hit again and again.
    const examples = randomExamples(8, [256, 200, 256, 180, 140], 2);
    const gradientsWith = async (threads: number, repeats: number, how: { lanes?: Lanes; maxBatchTokens?: number }) => {
      const trainer = createTrainer({ config, parameters, runtime: openRuntime({ threads }), ...how });
      const all: Map<string, Float32Array>[] = [];
      for (let repeat = 0; repeat < repeats; repeat++) {
        await trainer.forwardBackward(examples, { name: "cross_entropy" });
        all.push(new Map([...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()])));
        trainer.clearGradients();
      }
      await trainer.close();
      return all;
    };
    // Two lanes compute four batches, of a quarter of the tokens at most.
    const division = { maxBatchTokens: 1032 / 4 };
    for (const [how, alone] of [
      [{}, {}],
      [{ lanes: { count: 2, threads: 1 } }, division],
    ]) {
      const [single] = await gradientsWith(1, 1, alone!);
      const [first, ...others] = await gradientsWith(2, testSize(6, 60), how!);
      for (const other of others) {
        for (const [name, gradient] of first!) assert.deepEqual(other.get(name), gradient, name);
      }
      // Two threads may cut a sum at other places than one, and lanes add in another order: the last bits differ, nothing else does.
      for (const [name, gradient] of first!) {
        const norm = Math.hypot(...gradient);
        const distance = Math.hypot(...gradient.map((value, index) => value - single!.get(name)![index]!));
        assert.ok(distance <= 1e-6 * norm, `${name}: ${distance} apart, its length is ${norm}`);
      }
    }
  });
});

describe("optimStep", () => {
  it("refuses without gradients, and leaves the weights alone when a gradient is not a number", async () => {
    const config = models["llama, untied"];
    const parameters = livelyParameters(config);
    const trainer = createTrainer({ config, parameters, runtime });
    await assert.rejects(trainer.optimStep({ learningRate: 1 }), /call forwardBackward first/);
    const examples = randomExamples(config.vocabularySize, [5], 1);
    await trainer.forwardBackward(examples, { name: "cross_entropy" });
    (trainer.gradients().get("model.norm.weight") as Float32Array)[3] = Number.NaN;
    const before = structuredClone(parameters);
    await assert.rejects(trainer.optimStep({ learningRate: 1 }), (error: unknown) => {
      assert.ok(error instanceof CoaError && error.boundary === "engine");
      assert.match(error.message, /model\.norm\.weight is not finite/);
      return true;
    });
    assert.deepEqual(parameters, before);
    parameters.get("model.norm.weight")!.data[0] = Number.NaN;
    await assert.rejects(trainer.forward(examples, { name: "cross_entropy" }), /example 0, token 0: .* not a number/);
    await trainer.close();
  });
});
