import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { tabularEngine, tokenLoss } from "../../test/fixtures/conformance/tabular-engine.ts";
import { digitEngine, digitGame, digitTrajectory, playDigit } from "../../test/fixtures/digit-game.ts";
import { testSize } from "../../test/fixtures/test-size.ts";
import { readAllJsonl } from "../base/files/read-jsonl.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Engine, Example, LossSpec, OptimizerStep, Policy, SampleRequest } from "../core/engine.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { outcomeReward, overlongPenalty } from "../graders/reward.ts";
import { type Corrector, corrections } from "./corrections.ts";
import { gradientWeight, groupAdvantages, groupBaseline, hasVariance, type RolloutLine } from "./credit-group.ts";
import { fixedExamples } from "./example-source.ts";
import { tokenMean, trainedTokens } from "./normalise.ts";
import { dapoLoss } from "./rl-options.ts";
import type { Metrics } from "./run-folder.ts";
import { type Rollout, rolloutKey } from "./run-rollout.ts";
import { effectiveLoss, microBatches } from "./take-step.ts";
import { engineTeacher, teacher } from "./token-teacher.ts";
import { trainSft } from "./train-sft.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-train-"));
after(() => rm(folder, { recursive: true, force: true }));
let runs = 0;
const fresh = () => join(folder, `run-${runs++}`);

/** Sequences in which each token is followed by its successor: a table can learn them exactly. */
function counting(count: number): Example[] {
  const random = seededRandom(1, "counting").next;
  return Array.from({ length: count }, () => {
    const start = Math.floor(random() * 8);
    const length = 3 + Math.floor(random() * 5);
    const tokens = Array.from({ length: length + 1 }, (_, at) => (start + at) % 8);
    return {
      input: Int32Array.from(tokens.slice(0, -1)),
      targets: Int32Array.from(tokens.slice(1)),
      weights: new Float32Array(length).fill(1),
    };
  });
}

function sft(engine: Engine, path: string, extra: Partial<Parameters<typeof trainSft>[0]> = {}) {
  const source = fixedExamples(counting(40), 32, 5);
  return trainSft({
    engine,
    source,
    folder: path,
    seed: 5,
    steps: 60,
    optimizer: { learningRate: 0.1 },
    checkpointEvery: 10,
    ...extra,
  });
}

describe("trainSft", () => {
  it("learns, and writes one line of metrics per step", async () => {
    const path = fresh();
    const engine = tabularEngine(8);
    const result = await sft(engine, path);
    const metrics = await readAllJsonl<{ step: number; loss: number }>(join(path, "metrics.jsonl"));
    assert.equal(metrics.length, 60);
    assert.ok(metrics[0]!.loss > 2 && metrics.at(-1)!.loss < 0.2, `${metrics[0]!.loss} -> ${metrics.at(-1)!.loss}`);
    assert.equal(result.steps, 60);
  });

  it("shows a loss that has left the first steps behind, however short the run is", async () => {
    const path = fresh();
    const { loss } = await sft(tabularEngine(8), path, { steps: 8, optimizer: { learningRate: 0.5 } });
    const losses = (await readAllJsonl<{ loss: number }>(join(path, "metrics.jsonl"))).map((line) => line.loss);
    const [first, last] = [losses[0]!, losses.at(-1)!];
    assert.ok(loss >= last && loss < last + 0.4 * (first - last), `shown ${loss}, steps ${losses}`);
  });

  it("ends with the same weights when it was interrupted and resumed", async () => {
    const whole = tabularEngine(8);
    await sft(whole, fresh());
    const path = fresh();
    const stop = new AbortController();
    const interrupted = sft(tabularEngine(8), path, {
      signal: stop.signal,
      onProgress: ({ done }) => (done === 23 ? stop.abort() : undefined),
    });
    await assert.rejects(interrupted, /`resume: "auto"`/);
    const resumed = tabularEngine(8);
    await sft(resumed, path, { resume: "auto" });
    assert.deepEqual(resumed.logits, whole.logits);
    const metrics = await readAllJsonl<{ step: number }>(join(path, "metrics.jsonl"));
    assert.deepEqual(
      metrics.map(({ step }) => step),
      Array.from({ length: 60 }, (_, at) => at + 1),
    );
  });

  it("refuses to continue another run, an empty dataset, and a loss that is not a number", async () => {
    const path = fresh();
    await sft(tabularEngine(8), path);
    await assert.rejects(sft(tabularEngine(8), path, { resume: "never" }), /holds a training already/);
    await assert.rejects(sft(tabularEngine(8), path, { resume: "auto", seed: 6 }), /seed was 5, is 6/);
    assert.throws(() => fixedExamples([], 32, 1), /dataset is empty/);
    const broken = tabularEngine(8);
    broken.logits[0] = Number.NaN;
    await assert.rejects(sft(broken, fresh()), /the loss is NaN/);
  });

  it("sends the whole step before it awaits the first answer", async () => {
    const engine = tabularEngine(8);
    const open = new Set<string>();
    let together = 0;
    const watched = <T>(name: string, work: () => Promise<T>): Promise<T> => {
      open.add(name);
      together = Math.max(together, open.size);
      return new Promise((resolve, reject) => setImmediate(() => work().then(resolve, reject))).finally(() =>
        open.delete(name),
      ) as Promise<T>;
    };
    let calls = 0;
    const pipelined: Engine = {
      ...engine,
      forwardBackward: (...input) => watched(`pass ${calls++}`, () => engine.forwardBackward(...input)),
      optimStep: (step) => watched("step", () => engine.optimStep(step)),
    };
    await sft(pipelined, fresh(), { microBatchTokens: 8, steps: 3 });
    assert.ok(together > 2, `${together} calls at once`);
  });

  it("gives the same batch for the same step, and every example once per epoch", () => {
    const examples = counting(40);
    const a = fixedExamples(examples, 32, 9);
    const b = fixedExamples(examples, 32, 9);
    assert.deepEqual(b.batch(a.stepsPerEpoch + 2), a.batch(a.stepsPerEpoch + 2));
    for (const epoch of [0, 1, 2]) {
      const seen = Array.from({ length: a.stepsPerEpoch }, (_, at) => a.batch(epoch * a.stepsPerEpoch + at)).flat();
      assert.equal((seen as Example[]).length, examples.length);
      assert.equal(new Set(seen as Example[]).size, examples.length);
    }
  });
});

describe("normalisation", () => {
  it("means the same on engines that sum and on engines that average per sequence", () => {
    const loss: LossSpec = { name: "importance_sampling" };
    const examples = counting(6).map(({ weights, ...example }) => ({ ...example, advantages: weights! }));
    const losses = examples.map(({ targets }) => targets.map((target) => target + 1));
    const total = trainedTokens(examples, loss);
    const expected = losses.flatMap((row) => [...row]).reduce((sum, value) => sum + value, 0) / total;
    const weighted = (scaled: Example[], at: number) =>
      losses[at]!.reduce((sum, value, k) => sum + value * scaled[at]!.advantages![k]!, 0);
    const as = (reduction: "sum" | "sequence-mean") =>
      tokenMean(examples, loss, { losses: { importance_sampling: { reduction, options: [] } } });
    const summed = as("sum");
    assert.ok(Math.abs(summed.reduce((sum, _, at) => sum + weighted(summed, at), 0) - expected) < 1e-5);
    const means = as("sequence-mean");
    const reduced =
      means.reduce((sum, { targets }, at) => sum + weighted(means, at) / targets.length, 0) / means.length;
    assert.ok(Math.abs(reduced - expected) < 1e-5);
  });

  it("sends weights as they are to an engine that divides by them", () => {
    const losses = { cross_entropy: { reduction: "weighted-sequence-mean", options: [] } } as const;
    assert.deepEqual(tokenMean(counting(3), { name: "cross_entropy" }, { losses }), counting(3));
  });

  it("leaves out a dual clip that an engine lacks, and refuses a temperature or a loss that it lacks", () => {
    const few = {
      ...tabularEngine(8).capabilities,
      losses: { ppo: { reduction: "sum", options: [] } } as const,
    };
    assert.deepEqual(effectiveLoss(dapoLoss, few), { name: "ppo", clipLow: 0.2, clipHigh: 0.28 });
    assert.throws(() => effectiveLoss({ ...dapoLoss, temperature: 0.7 }, few), /temperature 0.7; sample at 1/);
    assert.throws(() => effectiveLoss({ name: "cross_entropy" }, few), /no loss cross_entropy; it has ppo/);
  });

  it("cuts requests by the number and the bytes an engine takes", () => {
    const parts = microBatches(counting(40), undefined, { examples: 7, bytes: 16 * 30 });
    assert.equal(parts.flat().length, 40);
    for (const part of parts) {
      const bytes = part.reduce((sum, { input }) => sum + 16 * input.length, 0);
      assert.ok(part.length <= 7 && bytes <= 16 * 30, `${part.length} examples, ${bytes} bytes`);
    }
  });

  it("cuts batches by padded size and loses nothing", () => {
    const parts = microBatches(counting(40), 24);
    assert.equal(parts.flat().length, 40);
    for (const part of parts)
      assert.ok(part.length === 1 || part.length * Math.max(...part.map((item) => item.input.length)) <= 24);
  });
});

describe("DAPO", () => {
  it("normalises within the group and drops groups without variance", () => {
    const advantages = groupAdvantages([1, 0, 0, 0]);
    assert.ok(Math.abs(advantages.reduce((sum, value) => sum + value, 0)) < 1e-9);
    assert.ok(Math.abs(advantages[0]! - 1.5) < 1e-4);
    assert.equal(hasVariance([1, 1, 1]), false);
  });

  it("weighs a baseline by how surprising a rollout's own tokens were", () => {
    const rollout = (...odds: number[]) => ({
      input: Int32Array.from(odds.keys()),
      targets: Int32Array.from(odds.keys()),
      oldLogprobs: Float32Array.from(odds, Math.log),
      advantages: Float32Array.from(odds, (odd) => (odd === 1 ? 0 : 1)), // observations: not sampled, no weight
    });
    const weights = [rollout(1, 0.9, 0.9), rollout(1, 0.9, 0.2)].map(gradientWeight);
    assert.ok(Math.abs(weights[0]! - 0.02) < 1e-6 && Math.abs(weights[1]! - 0.65) < 1e-6);
    const [right, wrong] = groupAdvantages([1, 0], groupBaseline([1, 0], [1, 3]));
    assert.ok(Math.abs(right! + 3 * wrong!) < 1e-9, "weighted advantages cancel out");
    assert.ok(right! > 0 && wrong! < 0);
  });

  it("clips high, low and dual, and its slope is the derivative of its value", () => {
    const at = (ratio: number, advantage: number) =>
      tokenLoss(dapoLoss, Math.log(ratio), { weight: 1, oldLogprob: 0, advantage });
    assert.equal(at(1.3, 1).slope, 0);
    assert.equal(at(1.27, 1).slope, -1.27);
    assert.equal(at(0.79, -1).slope, 0);
    assert.equal(at(0.81, -1).slope, 0.81);
    assert.equal(at(11, -1).slope, 0);
    assert.equal(at(11, -1).value, 10);
    for (const [ratio, advantage] of [
      [1.2, 2],
      [0.9, -3],
      [5, -1],
      [0.5, 1],
      [1.5, 1],
    ] as const) {
      const h = 1e-6;
      const up = tokenLoss(dapoLoss, Math.log(ratio) + h, { weight: 1, oldLogprob: 0, advantage }).value;
      const down = tokenLoss(dapoLoss, Math.log(ratio) - h, { weight: 1, oldLogprob: 0, advantage }).value;
      assert.ok(Math.abs((up - down) / (2 * h) - at(ratio, advantage).slope) < 1e-4);
    }
  });

  it("punishes length softly near the limit only", () => {
    assert.equal(overlongPenalty(700, 800), 0);
    assert.equal(overlongPenalty(800, 800), -1);
    assert.equal(overlongPenalty(750, 800), -0.5);
  });

  it("does not count a judge that fails as a wrong answer", async () => {
    let asked = 0;
    const reward = outcomeReward(() => ({ correct: ++asked < 3 ? null : true, score: 1, reason: "" }));
    const trajectory = { answer: "x", segments: [], usage: emptyUsage() } as unknown as Trajectory;
    assert.equal((await reward(trajectory, defineTask({ id: "t", question: "?" }))).reward, 1);
    const never = outcomeReward(() => ({ correct: null, score: 0, reason: "the judge is away" }));
    assert.deepEqual(await never(trajectory, defineTask({ id: "t", question: "?" })), {
      reward: null,
      correct: null,
      score: 0,
      reason: "the judge is away",
      excluded: "unjudged",
    });
  });
});

/** The rate of every update of a run, and its metrics. */
async function ratesOf(options: Parameters<typeof digitGame>[2]) {
  const engine = digitEngine();
  const rates: number[] = [];
  const watched: Engine = {
    ...engine,
    optimStep(step) {
      rates.push(step.learningRate);
      return engine.optimStep(step);
    },
  };
  const path = fresh();
  await digitGame(watched, path, options);
  return { rates, metrics: await readAllJsonl<Metrics>(join(path, "metrics.jsonl")) };
}

describe("trainRl", () => {
  it("raises the reward from rollouts alone, whatever the seed", async () => {
    for (let seed = 1; seed <= testSize(1, 3); seed++) {
      const result = await digitGame(digitEngine(), fresh(), { seed, steps: 20 });
      assert.ok(
        result.lastReward > result.firstReward + 0.3,
        `seed ${seed}: ${result.firstReward} -> ${result.lastReward}`,
      );
    }
  });

  it("loses no rollout and trains on none twice when it is interrupted", async () => {
    const whole = digitEngine();
    await digitGame(whole, fresh());
    const path = fresh();
    const stop = new AbortController();
    let count = 0;
    const reward = outcomeReward((task, answer) => {
      if (++count === 150) stop.abort();
      return { correct: task.answers[0] === answer, score: 0, reason: "" };
    });
    await assert.rejects(digitGame(digitEngine(), path, { signal: stop.signal, reward }));
    const before = (await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))).length;
    const resumed = digitEngine();
    await digitGame(resumed, path, { resume: "auto" });
    const keys = (await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"))).map(rolloutKey);
    assert.ok(before > 32 && before < keys.length);
    assert.equal(new Set(keys).size, keys.length);
    assert.deepEqual(resumed.logits, whole.logits);
  });

  it("keeps close to a reference when asked to", async () => {
    const free = digitEngine();
    await digitGame(free, fresh());
    const held = digitEngine();
    await digitGame(held, fresh(), { extraLosses: [teacher(engineTeacher(digitEngine(), byteTokenizer()), 5)] });
    const start = digitEngine().logits;
    const size = ({ logits }: { logits: Float64Array }) =>
      logits.reduce((sum, value, at) => sum + (value - start[at]!) ** 2, 0);
    assert.ok(size(held) < size(free) / 2, `${size(held)} vs ${size(free)}`);
  });

  /** How often the engine's likeliest answer is the right one. */
  const greedy = ({ logits }: { logits: Float64Array }) =>
    [..."0123"].filter((digit) => {
      const row = [..."0123"].map((token) => logits[256 * digit.charCodeAt(0) + token.charCodeAt(0)]!);
      return row.indexOf(Math.max(...row)) === Number(digit);
    }).length;

  it("learns from a teacher's scores of its own tokens alone, and refuses a teacher of another vocabulary", async () => {
    const wise = digitEngine();
    for (const digit of [..."0123"]) wise.logits[256 * digit.charCodeAt(0) + digit.charCodeAt(0)] = 4;
    const student = digitEngine();
    const extraLosses = [teacher(engineTeacher(wise, byteTokenizer()))];
    await digitGame(student, fresh(), { credit: { rewardWeight: 0 }, extraLosses });
    assert.equal(greedy(student), 4);
    const other = engineTeacher(wise, { ...byteTokenizer(), vocabularySize: 300 });
    const untouched = digitEngine();
    await assert.rejects(digitGame(untouched, fresh(), { extraLosses: [teacher(other)] }), /another vocabulary/);
    assert.deepEqual(untouched.logits, digitEngine().logits);
  });

  it("learns the corrected step of failed rollouts, and counts what could not be corrected", async () => {
    const student = digitEngine();
    const path = fresh();
    const corrector: Corrector = {
      name: "knows all but 3",
      correct: async (task) =>
        task.question === "3"
          ? { correction: null, reason: "no idea" }
          : {
              correction: {
                from: 0,
                segments: [{ tag: "text", text: task.question, by: "model" }],
                usage: emptyUsage(),
              },
            },
    };
    await digitGame(student, path, { credit: { rewardWeight: 0 }, extraLosses: [corrections(corrector)] });
    assert.ok(greedy(student) >= 3);
    const [first] = await readAllJsonl<Metrics>(join(path, "metrics.jsonl"));
    assert.equal(first!["asked"], Number(first!["corrected"]) + Number(first!["not corrected: no idea"]));
    assert.ok(Number(first!["not corrected: no idea"]) > 0);
  });

  it("schedules every learning rate", async () => {
    const engine = digitEngine();
    const steps: OptimizerStep[] = [];
    const watched: Engine = { ...engine, optimStep: (step) => engine.optimStep(steps[steps.push(step) - 1]!) };
    await digitGame(watched, fresh(), {
      steps: 6,
      optimizer: { learningRate: 0.3, matrixLearningRate: 0.6 },
      schedule: { decay: "linear" },
    });
    assert.ok(steps.at(-1)!.learningRate < steps[0]!.learningRate / 2);
    for (const { learningRate, matrixLearningRate } of steps)
      assert.ok(Math.abs(matrixLearningRate! - 2 * learningRate) < 1e-12);
  });

  it("takes a smaller step where fewer groups teach than were asked for", async () => {
    const { rates, metrics } = await ratesOf({
      steps: 20,
      collect: { groups: 8, maxRounds: 1 },
      schedule: { byGroups: true },
    });
    const wanted = metrics.flatMap((line) =>
      Array.from({ length: line["updates"] ?? 0 }, () => (0.3 * line["keptGroups"]!) / 8),
    );
    assert.equal(rates.length, wanted.length);
    for (const [at, rate] of rates.entries()) assert.ok(Math.abs(rate - wanted[at]!) < 1e-12, `${rates}`);
    assert.ok(Math.min(...rates) < 0.2, "some step has few groups");
  });

  it("gives rollouts a longer context from the step that says so, and never more than the engine's", async () => {
    const seen = new Map<number, number>();
    const engine = digitEngine();
    const context = [
      { fromStep: 0, tokens: 16 },
      { fromStep: 2, tokens: 32 },
      { fromStep: 3, tokens: 10 * engine.capabilities.maxContext },
    ];
    await digitGame(engine, fresh(), {
      steps: 4,
      collect: { context },
      rollout: (task, { seed, policy, step, maxContext }) => {
        seen.set(step, maxContext);
        return playDigit(task, seed, policy);
      },
    });
    assert.deepEqual([...seen.values()], [16, 16, 32, engine.capabilities.maxContext]);
  });

  it("finds ratios of 1 at the first update, at any temperature", async () => {
    for (const temperature of [1, 0.6]) {
      const path = fresh();
      const result = await digitGame(digitEngine(), path, { loss: { ...dapoLoss, temperature }, steps: 20 });
      assert.ok(result.lastReward > result.firstReward + 0.3, `${result.firstReward} -> ${result.lastReward}`);
      const metrics = await readAllJsonl<Metrics>(join(path, "metrics.jsonl"));
      const gaps = metrics.filter((line) => (line["updates"] ?? 0) > 0).map((line) => line["ratioGap"]!);
      assert.ok(gaps.length > 3 && gaps.every((gap) => gap < 1e-6), `${gaps}`);
    }
  });

  it("stops before it trains on samples that the loss can't reproduce", async () => {
    const rollout = (change: Partial<SampleRequest>, keep = true) => {
      return async (task: Task, { seed, policy }: { seed: number; policy: Policy }): Promise<Trajectory> => {
        const promptTokens = [task.question.charCodeAt(0)];
        const sample = await policy.sample({ tokens: promptTokens, maxTokens: 1, seed, ...change });
        const text = String.fromCharCode(...sample.tokens);
        const logprobs = keep ? sample.logprobs : [-3];
        return digitTrajectory(task, promptTokens, text, { ...sample, logprobs });
      };
    };
    const refused = (change: Partial<SampleRequest>, pattern: RegExp) =>
      assert.rejects(digitGame(digitEngine(), fresh(), { rollout: rollout(change) }), pattern);
    await refused({ topP: 0.9 }, /top-p 0.9/);
    await refused({ topK: 3 }, /top-k 3/);
    await refused({ temperature: 0.5 }, /temperature 0.5/);
    await refused({ allowedTokens: () => [48, 49] }, /token mask/);
    await assert.rejects(
      digitGame(digitEngine(), fresh(), { rollout: rollout({}, false) }),
      /away from the one it was sampled/,
    );
  });

  it("keeps what became of every rollout", async () => {
    const path = fresh();
    await digitGame(digitEngine(), path, { steps: 3 });
    const figures = await readAllJsonl<RolloutLine>(join(path, "rollout-figures.jsonl"));
    const rollouts = await readAllJsonl<Rollout>(join(path, "rollouts.jsonl"));
    assert.deepEqual(figures.map(({ rollout }) => rollout).sort(), rollouts.map(rolloutKey).sort());
    const kept = figures.filter((line) => line.kept);
    assert.ok(kept.length > 0 && kept.length % 8 === 0);
    for (const { reward, baseline, advantage, tokens, staleness } of kept) {
      assert.equal(Math.sign(advantage!), Math.sign(reward! - baseline!));
      assert.deepEqual([tokens, staleness], [1, 0]);
    }
    // Versions come from the engine: the rollouts of a later step were sampled by weights that had seen more updates.
    const versions = new Set(rollouts.map(({ trajectory }) => trajectory.policyVersion));
    assert.deepEqual([...versions], [0, 2, 4]);
  });
});
