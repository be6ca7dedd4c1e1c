/**
 * What every engine must do, as a list of named checks that any test runner can run:
 *
 *   for (const { name, run } of engineConformance(() => openMyEngine())) it(name, run);
 *
 * `make` gives a fresh engine each time, always with the same weights. Capabilities decide what is asked of it.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lossNumbers, tokenLoss, totalLoss } from "../base/count/policy-loss.ts";
import type { Engine, Example, LossSpec, OptimizerStep } from "../core/engine.ts";
import { batchFor, closeTo, distribution, type EngineCheck, logprobsOf } from "./engine-check.ts";
import type { ConformanceCase } from "./model-conformance.ts";
import { samplingChecks } from "./sampling-conformance.ts";

export interface EngineConformanceOptions {
  /** Largest difference of two log-probabilities that should be equal; default 1e-4. */
  tolerance?: number;
}

const imitation: LossSpec = { name: "cross_entropy" };
const step: OptimizerStep = { learningRate: 0.02, beta1: 0.9, beta2: 0.95, epsilon: 1e-6 };

/** The checks for engines that `make` opens. */
export function engineConformance(
  make: () => Promise<Engine>,
  options: EngineConformanceOptions = {},
): ConformanceCase[] {
  const context = { make, tolerance: options.tolerance ?? 1e-4 };
  return Object.entries({ ...trainingChecks, ...samplingChecks }).map(([name, check]) => ({
    name,
    async run() {
      const engine = await make();
      try {
        await check(engine, context);
      } finally {
        await engine.close();
      }
    },
  }));
}

const trainingChecks: Record<string, EngineCheck> = {
  "scores every target with a probability, and all targets together with 1": async (engine, { tolerance }) => {
    const whole = await distribution(engine, [1, 2]);
    const sum = whole.reduce((total, logprob) => total + Math.exp(logprob), 0);
    assert.ok(Math.abs(sum - 1) < tolerance * whole.length, `probabilities sum to ${sum}`);
  },

  "scores at the temperature of the loss": async (engine, { tolerance }) => {
    if (!engine.capabilities.losses.cross_entropy?.options.includes("temperature")) return;
    const temperature = 0.6;
    const plain = await distribution(engine, [1, 2]);
    const tempered = await distribution(engine, [1, 2], temperature);
    const scaled = plain.map((logprob) => logprob / temperature);
    const norm = Math.log(scaled.reduce((sum, value) => sum + Math.exp(value), 0));
    closeTo(
      tempered,
      scaled.map((value) => value - norm),
      tolerance,
    );
  },

  "learns: loss falls, forward alone changes nothing, weight 0 teaches nothing": async (engine, { tolerance }) => {
    const batch = batchFor(engine, 1);
    const first = await lossOf(engine, batch);
    closeTo([await lossOf(engine, batch)], [first], tolerance * 10);
    for (let round = 0; round < 10; round++) {
      await engine.forwardBackward(batch, imitation);
      await engine.optimStep(step);
    }
    assert.ok((await lossOf(engine, batch)) < first, "the loss did not fall");
    const before = await logprobsOf(engine, batch);
    await engine.forwardBackward(
      batch.map((example) => ({ ...example, weights: new Float32Array(example.targets.length) })),
      imitation,
    );
    await engine.optimStep({ ...step, beta1: 0, beta2: 0 });
    closeTo(await logprobsOf(engine, batch), before, tolerance);
  },

  "sums gradients over calls until the step": async (engine, { make, tolerance }) => {
    if (engine.capabilities.losses.cross_entropy?.reduction !== "sum") return;
    const batch = batchFor(engine, 2);
    await engine.forwardBackward(batch, imitation);
    await engine.optimStep(step);
    const parts = await make();
    try {
      for (const example of batch) await parts.forwardBackward([example], imitation);
      await parts.optimStep(step);
      closeTo(await logprobsOf(parts, batch), await logprobsOf(engine, batch), tolerance * 10);
    } finally {
      await parts.close();
    }
  },

  "carries calls out in the order they are made, awaited or not": async (engine, { make, tolerance }) => {
    const batches = [1, 2, 3].map((seed) => batchFor(engine, seed));
    for (const batch of batches) {
      await engine.forwardBackward(batch, imitation);
      await engine.optimStep(step);
    }
    const pipelined = await make();
    try {
      const sent = batches.flatMap((batch): Promise<unknown>[] => [
        pipelined.forwardBackward(batch, imitation),
        pipelined.optimStep(step),
      ]);
      const after = pipelined.forward(batches[0]!, imitation);
      await Promise.all(sent);
      closeTo(
        (await after).logprobs.flatMap((row) => [...row]),
        await logprobsOf(engine, batches[0]!),
        tolerance,
      );
    } finally {
      await pipelined.close();
    }
  },

  "takes the step of every policy loss that its formula says": async (engine, { make, tolerance }) => {
    const { losses } = engine.capabilities;
    const batch = batchFor(engine, 4);
    for (const loss of policyLosses) {
      if (losses[loss.name]?.reduction !== "sum" || losses.cross_entropy?.reduction !== "sum") continue;
      const [policy, imitated] = [await make(), await make()];
      try {
        const { logprobs } = await policy.forward(batch, imitation);
        const rollouts = batch.map((example, at) => rolloutOf(example, logprobs[at]!));
        await policy.forwardBackward(rollouts, loss);
        await policy.optimStep(step);
        await imitated.forwardBackward(
          rollouts.map((rollout, at) => ({ ...rollout, weights: slopes(rollout, loss, logprobs[at]!) })),
          imitation,
        );
        await imitated.optimStep(step);
        closeTo(await logprobsOf(policy, batch), await logprobsOf(imitated, batch), tolerance * 10, loss.name);
      } finally {
        await policy.close();
        await imitated.close();
      }
    }
  },

  "refuses an example it can't read, and the step that was to use it": async (engine, { tolerance }) => {
    const [good] = batchFor(engine, 5);
    const bad = { ...good!, targets: good!.targets.map(() => engine.capabilities.vocabularySize) };
    const before = await logprobsOf(engine, [good!]);
    const sent = [engine.forwardBackward([good!], imitation), engine.forwardBackward([bad], imitation)];
    const stepped = engine.optimStep(step);
    const outcomes = await Promise.allSettled([...sent, stepped]);
    assert.deepEqual(
      outcomes.slice(1).map(({ status }) => status),
      ["rejected", "rejected"],
    );
    closeTo(await logprobsOf(engine, [good!]), before, tolerance);
  },

  "refuses a learning rate that is not a number": async (engine) => {
    for (const learningRate of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
      await engine.forwardBackward(batchFor(engine, 1), imitation);
      await assert.rejects(engine.optimStep({ learningRate }), /learning rate/i);
    }
  },

  "says the gradient's norm where it promises to": async (engine) => {
    await engine.forwardBackward(batchFor(engine, 6), imitation);
    const { gradientNorm } = await engine.optimStep(step);
    if (engine.capabilities.gradientNorm) assert.ok(gradientNorm !== undefined && gradientNorm > 0);
    else assert.equal(gradientNorm, undefined);
  },

  "continues from a saved state as if it had never stopped": async (engine, { make, tolerance }) => {
    const folder = await mkdtemp(join(tmpdir(), "coa-conformance-"));
    const later = await make();
    try {
      const train = async (target: Engine, seed: number) => {
        await target.forwardBackward(batchFor(target, seed), imitation);
        await target.optimStep(step);
      };
      await train(engine, 1);
      await train(engine, 2);
      const state = await engine.saveState(join(folder, "state"), "conformance");
      await train(engine, 3);
      await later.loadState(state);
      await train(later, 3);
      const batch = batchFor(engine, 7);
      closeTo(await logprobsOf(later, batch), await logprobsOf(engine, batch), tolerance);
      assert.equal((await later.publish()).version, (await engine.publish()).version);
      await engine.deleteState?.(state);
    } finally {
      await later.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const policyLosses: LossSpec[] = [
  { name: "importance_sampling" },
  { name: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { name: "cispo", clipLow: 0.2, clipHigh: 0.28 },
];

async function lossOf(engine: Engine, batch: readonly Example[]): Promise<number> {
  return totalLoss(batch, imitation, (await engine.forward(batch, imitation)).logprobs);
}

/** An example as if it had been sampled a little while ago: ratios on both sides of every clip bound. */
function rolloutOf(example: Example, logprobs: Float32Array): Example {
  const ratios = [0.5, 0.79, 0.81, 1, 1.27, 1.29, 2];
  return {
    input: example.input,
    targets: example.targets,
    oldLogprobs: logprobs.map((logprob, at) => logprob - Math.log(ratios[at % ratios.length]!)),
    advantages: Float32Array.from(logprobs, (_, at) => (at % 3 === 2 ? 0 : at % 2 === 0 ? 0.7 : -1.3)),
  };
}

/** Cross-entropy weights with the slope that the loss has, found by differences of its value. */
function slopes({ oldLogprobs, advantages }: Example, loss: LossSpec, logprobs: Float32Array): Float32Array {
  const numbers = lossNumbers(loss);
  const h = 1e-6;
  return logprobs.map((logprob, at) => {
    const [old, factor] = [oldLogprobs![at]!, advantages![at]!];
    if (loss.name === "cispo") {
      const bounded = Math.min(Math.max(Math.exp(logprob - old), numbers.floor), numbers.ceiling);
      return factor * bounded; // no gradient through the ratio
    }
    const value = (moved: number) => tokenLoss(loss, numbers, { logprob: logprob + moved, old, factor }).loss;
    return (value(-h) - value(h)) / (2 * h);
  });
}
