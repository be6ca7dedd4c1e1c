import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { naiveForward } from "../../../../test/engine/naive-forward.ts";
import { testSize } from "../../../../test/fixtures/test-size.ts";
import type { LossSpec } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import type { Example } from "../../../core/example.ts";
import { totalLoss } from "../../../core/policy-loss.ts";
import { seededRandom } from "../../../core/random.ts";
import { createAdapter } from "../lora/adapter.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import { createTrainer, type Trainer } from "./create-trainer.ts";

const runtime = await openRuntime({ threads: 2 });

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

/** Central differences of the loss along a direction of one tensor. */
async function slopeAlong(
  trainer: Trainer,
  data: Float32Array,
  direction: Float64Array,
  examples: Example[],
  loss: LossSpec,
) {
  const start = data.slice();
  const at = async (step: number) => {
    for (let i = 0; i < data.length; i++) data[i] = start[i]! + step * direction[i]!;
    const { logprobs } = await trainer.forward(examples, loss);
    data.set(start);
    return totalLoss(examples, loss, logprobs);
  };
  const step = 4e-3;
  return (8 * ((await at(step)) - (await at(-step))) - ((await at(2 * step)) - (await at(-2 * step)))) / (12 * step);
}

describe("gradients of the whole model", () => {
  for (const [title, config] of Object.entries(models)) {
    for (const loss of losses) {
      it(`agree with finite differences for every parameter: ${title}, ${JSON.stringify(loss)}`, async () => {
        const parameters = livelyParameters(config);
        const trainer = createTrainer({ config, parameters, runtime });
        const examples = randomExamples(config.vocabularySize, [7, 3, 20], 8);
        if (loss.name === "cispo")
          freezeRatios(examples, (await trainer.forward(examples, { name: "cross_entropy" })).logprobs);
        await trainer.forwardBackward(examples, loss);
        const gradients = new Map([...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()]));
        assert.deepEqual(new Set(gradients.keys()), new Set(parameters.keys()));
        const random = seededRandom(9);
        for (const [name, gradient] of gradients) {
          const norm = Math.hypot(...gradient);
          for (const kind of ["uphill", "random"]) {
            const direction = Float64Array.from(gradient, (value) =>
              kind === "uphill" ? value / (norm || 1) : random.normal(),
            );
            const length = Math.hypot(...direction) || 1;
            for (let i = 0; i < direction.length; i++) direction[i]! /= length;
            const expected = gradient.reduce((total, value, i) => total + value * direction[i]!, 0);
            const measured = await slopeAlong(trainer, parameters.get(name)!.data, direction, examples, loss);
            const error = Math.abs(measured - expected) / Math.max(norm, 1e-3);
            assert.ok(error < 1e-2, `${name} ${kind}: ${expected} by the graph, ${measured} by differences`);
          }
        }
        await trainer.close();
      });
    }
  }

  it("of an adapter agree too, and the base gets none", async () => {
    const config = models["qwen2, shared keys, tied"];
    const parameters = livelyParameters(config);
    const adapter = createAdapter(config, { rank: 2 }, 3);
    const random = seededRandom(4);
    for (const { data } of adapter.parameters.values())
      for (let i = 0; i < data.length; i++) data[i] = 0.2 * random.normal();
    const trainer = createTrainer({ config, parameters, runtime, adapter });
    const examples = randomExamples(config.vocabularySize, [9], 8);
    await trainer.forwardBackward(examples, { name: "cross_entropy" });
    const gradients = [...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()] as const);
    assert.deepEqual(new Set(gradients.map(([name]) => name)), new Set(adapter.parameters.keys()));
    for (const [name, gradient] of gradients) {
      const norm = Math.hypot(...gradient);
      const direction = Float64Array.from(gradient, (value) => value / (norm || 1));
      const measured = await slopeAlong(trainer, adapter.parameters.get(name)!.data, direction, examples, {
        name: "cross_entropy",
      });
      assert.ok(
        Math.abs(measured - norm) / Math.max(norm, 1e-3) < 1e-2,
        `${name}: ${norm} by the graph, ${measured} by differences`,
      );
    }
    await trainer.close();
  });
});

/**
 * CISPO stops the gradient at its ratio, which differences can't do; with every ratio held at the same bound both agree.
 */
function freezeRatios(examples: Example[], logprobs: Float32Array[]): void {
  examples.forEach((example, number) => {
    example.oldLogprobs = logprobs[number]!.map((value) => value - 3);
  });
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
      const [whole, pieces] = [1, 3].map((headChunks) => createTrainer({ config, parameters, runtime, headChunks }));
      const expected = await whole!.forwardBackward(examples, losses[2]!);
      const found = await pieces!.forwardBackward(examples, losses[2]!);
      const [a, b] = [expected, found].map(({ logprobs }) => totalLoss(examples, losses[2]!, logprobs));
      assert.ok(Math.abs(a! - b!) < 1e-4);
      assert.deepEqual((await pieces!.forward(examples, losses[2]!)).logprobs, found.logprobs);
      for (const [name, gradient] of whole!.gradients()) {
        const scale = Math.hypot(...gradient);
        const other = pieces!.gradients().get(name)!;
        for (const [i, value] of gradient.entries()) assert.ok(Math.abs(value - other[i]!) < 1e-5 * scale, name);
      }
      await Promise.all([whole!.close(), pieces!.close()]);
    }
  });

  it("is bit for bit the same in many runs on 2 threads, and the same up to rounding on 1, at a realistic size", async () => {
    const config = modelConfig({
      vocabularySize: 512,
      hiddenSize: 128,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      intermediateSize: 352,
    });
    const parameters = initialParameters(config, 1, { copyInit: true });
    // Few distinct ids: many rows of the embedding's gradient are hit again and again.
    const examples = randomExamples(8, [256, 200, 256, 180], 2);
    const gradientsWith = async (threads: number, repeats: number) => {
      const trainer = createTrainer({ config, parameters, runtime: await openRuntime({ threads }) });
      const all: Map<string, Float32Array>[] = [];
      for (let repeat = 0; repeat < repeats; repeat++) {
        await trainer.forwardBackward(examples, { name: "cross_entropy" });
        all.push(new Map([...trainer.gradients()].map(([name, gradient]) => [name, gradient.slice()])));
        trainer.clearGradients();
      }
      await trainer.close();
      return all;
    };
    const [first, ...others] = await gradientsWith(2, testSize(15, 60));
    for (const other of others) {
      for (const [name, gradient] of first!) assert.deepEqual(other.get(name), gradient, name);
    }
    // Two threads may cut a sum at other places than one: the last bits differ, nothing else does.
    const [single] = await gradientsWith(1, 1);
    for (const [name, gradient] of first!) {
      const norm = Math.hypot(...gradient);
      const distance = Math.hypot(...gradient.map((value, index) => value - single!.get(name)![index]!));
      assert.ok(distance <= 1e-6 * norm, `${name}: ${distance} apart, its length is ${norm}`);
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
