/**
 * An engine small enough to check by hand: the policy is a table of logits, one row per previous token. Losses, their
 * gradients and Adam are written out plainly, so the training loops can be tested without a neural network, and the
 * embedded engine's losses can be compared with a second way of computing them.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkStep } from "../base/count/policy-loss.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Example } from "../core/engine.ts";
import {
  type Engine,
  type EngineCapabilities,
  endsAtStop,
  type ForwardResult,
  type LossSpec,
  type OptimizerStep,
  type Sample,
  type SampleRequest,
  type Sampler,
  sampleManyWith,
  summedLosses,
} from "../core/engine.ts";
import { CoaError, UsageError } from "../core/errors.ts";

/** An engine over a table of `vocabularySize` squared logits, all 0 at first. */
export function tabularEngine(vocabularySize: number): Engine & Sampler & { readonly logits: Float64Array } {
  const size = vocabularySize * vocabularySize;
  const logits = new Float64Array(size); // [previous][token]
  const gradient = new Float64Array(size);
  const first = new Float64Array(size);
  const second = new Float64Array(size);
  let updates = 0;
  let gradients: "none" | "summed" | "incomplete" = "none";
  let published = { version: 0, logits: logits.slice() };

  const row = (previous: number, table: Float64Array = logits) =>
    table.subarray(previous * vocabularySize, (previous + 1) * vocabularySize);

  function run(examples: readonly Example[], loss: LossSpec, backward: boolean): ForwardResult {
    const { temperature = 1 } = loss;
    const logprobs = examples.map((example) => {
      const result = new Float32Array(example.targets.length);
      example.targets.forEach((target, at) => {
        const previous = example.input[at] ?? 0;
        const logs = logSoftmax(row(previous).map((value) => value / temperature));
        const logprob = logs[target] ?? 0;
        result[at] = logprob;
        const { slope } = tokenLoss(loss, logprob, {
          weight: example.weights?.[at] ?? 1,
          oldLogprob: example.oldLogprobs?.[at] ?? 0,
          advantage: example.advantages?.[at] ?? 0,
        });
        if (!backward || slope === 0) return;
        for (let token = 0; token < vocabularySize; token++) {
          const at = previous * vocabularySize + token;
          gradient[at]! += (slope / temperature) * ((token === target ? 1 : 0) - Math.exp(logs[token] ?? 0));
        }
      });
      return result;
    });
    return { logprobs };
  }

  /** Refuses what the table has no row for, as a real engine does. */
  function check(examples: readonly Example[]): void {
    for (const [number, { input, targets }] of examples.entries()) {
      const bad = [...input, ...targets].find((token) => !(token >= 0 && token < vocabularySize));
      if (bad !== undefined) throw new UsageError(`example ${number}: token ${bad} is not in the vocabulary`);
    }
  }

  const publish = () => {
    published = { version: updates, logits: logits.slice() };
  };
  const sample = async (request: SampleRequest): Promise<Sample> => {
    request.signal?.throwIfAborted();
    const { version, logits: table } = published;
    return { ...sampleFrom((previous) => row(previous, table), request), policyVersion: version };
  };
  const capabilities: EngineCapabilities = {
    losses: summedLosses,
    logprobs: "sampled",
    fullParameter: true,
    gradientClipping: true,
    gradientNorm: true,
    tokenMasks: true,
    overlap: true,
    maxContext: 4096,
    vocabularySize,
  };

  return {
    name: "tabular",
    logits,
    capabilities,
    async sample(request) {
      publish();
      return sample(request);
    },
    async publish() {
      publish();
      return { name: "tabular", version: updates, capabilities, sample, sampleMany: sampleManyWith(sample) };
    },
    async forward(examples, loss) {
      check(examples);
      return run(examples, loss, false);
    },
    async forwardBackward(examples, loss) {
      try {
        check(examples);
        const result = run(examples, loss, true);
        if (gradients === "none") gradients = "summed";
        return result;
      } catch (error) {
        gradients = "incomplete";
        throw error;
      }
    },
    async optimStep(step) {
      const had = gradients;
      gradients = "none";
      if (had !== "summed") gradient.fill(0);
      if (had === "none") throw new UsageError("optimStep without gradients; call forwardBackward first");
      if (had === "incomplete") throw new CoaError("engine", "no step was taken: a forwardBackward before it failed");
      checkStep(step);
      const gradientNorm = Math.sqrt(gradient.reduce((sum, value) => sum + value * value, 0));
      const clip = step.gradientClip && gradientNorm > step.gradientClip ? step.gradientClip / gradientNorm : 1;
      updates++;
      adam(step, clip);
      gradient.fill(0);
      return { gradientNorm };
    },
    async saveState(folder) {
      await mkdir(folder, { recursive: true });
      const state = { updates, logits: [...logits], first: [...first], second: [...second] };
      await writeFile(join(folder, "state.json"), JSON.stringify(state));
      return folder;
    },
    async loadState(folder) {
      const state = JSON.parse(await readFile(join(folder, "state.json"), "utf8"));
      updates = state.updates;
      logits.set(state.logits);
      first.set(state.first);
      second.set(state.second);
      published = { version: updates, logits: logits.slice() };
    },
    async saveModel(folder) {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "logits.json"), JSON.stringify([...logits]));
    },
    async close() {},
  };

  function adam(step: OptimizerStep, clip: number): void {
    const { beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0, learningRate } = step;
    const [left1, left2] = [1 - beta1 ** updates, 1 - beta2 ** updates];
    for (let at = 0; at < size; at++) {
      const slope = gradient[at]! * clip;
      first[at] = beta1 * first[at]! + (1 - beta1) * slope;
      second[at] = beta2 * second[at]! + (1 - beta2) * slope * slope;
      const [meanSlope, meanSquare] = [first[at]! / left1, second[at]! / left2];
      logits[at]! -= learningRate * (meanSlope / (Math.sqrt(meanSquare) + epsilon) + weightDecay * logits[at]!);
    }
  }
}

/** The loss of one token and its derivative by the token's log-probability, written as the formulas say. */
export function tokenLoss(
  loss: LossSpec,
  logprob: number,
  token: { weight: number; oldLogprob: number; advantage: number },
): { value: number; slope: number } {
  const { weight, oldLogprob, advantage } = token;
  if (loss.name === "cross_entropy") return { value: -weight * logprob, slope: -weight };
  const ratio = Math.exp(Math.max(-20, Math.min(20, logprob - oldLogprob)));
  if (loss.name === "importance_sampling") return { value: -advantage * ratio, slope: -advantage * ratio };
  const clipped = Math.max(1 - loss.clipLow, Math.min(1 + loss.clipHigh, ratio));
  if (loss.name === "cispo") return { value: -advantage * clipped * logprob, slope: -advantage * clipped };
  const plain = -advantage * ratio;
  const bounded = -advantage * clipped;
  let value = Math.max(plain, bounded);
  let slope = plain >= bounded ? plain : 0; // a clipped ratio is constant
  if (advantage < 0 && loss.dualClip !== undefined && value > -advantage * loss.dualClip) {
    value = -advantage * loss.dualClip;
    slope = 0;
  }
  return { value, slope };
}

function sampleFrom(row: (previous: number) => Float64Array, request: SampleRequest): Omit<Sample, "policyVersion"> {
  const { temperature = 1, maxTokens } = request;
  const random = seededRandom(request.seed ?? 0).next;
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let previous = request.tokens.at(-1) ?? 0;
  while (tokens.length < maxTokens) {
    const allowed = request.allowedTokens?.(tokens);
    const scaled = row(previous).map((value, token) =>
      allowed && !allowed.includes(token) ? Number.NEGATIVE_INFINITY : value / (temperature || 1),
    );
    const logs = logSoftmax(scaled);
    const token = temperature === 0 ? argmax(logs) : draw(logs, random());
    tokens.push(token);
    logprobs.push(logs[token] ?? 0);
    request.onToken?.(token, logs[token] ?? 0);
    if (endsAtStop(tokens, tokens.length, request))
      return { tokens, logprobs, finish: "stop", computedTokens: tokens.length };
    previous = token;
  }
  return { tokens, logprobs, finish: "length", computedTokens: tokens.length };
}

function logSoftmax(values: Float64Array): Float64Array {
  const top = Math.max(...values);
  const total = Math.log(values.reduce((sum, value) => sum + Math.exp(value - top), 0)) + top;
  return values.map((value) => value - total);
}

function argmax(values: Float64Array): number {
  return values.indexOf(Math.max(...values));
}

function draw(logs: Float64Array, at: number): number {
  let left = at;
  for (const [token, log] of logs.entries()) if ((left -= Math.exp(log)) < 0) return token;
  return logs.findLastIndex((log) => log > Number.NEGATIVE_INFINITY);
}
