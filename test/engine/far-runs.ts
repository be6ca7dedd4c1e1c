/** The small runs that are trained here and far away, SFT and RL, and how their figures are compared. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { seededRandom } from "../../src/base/work/random.ts";
import type { Engine, Example } from "../../src/core/engine.ts";
import { defineTask, type Task } from "../../src/core/task.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { emptyUsage } from "../../src/core/usage.ts";
import { modelConfig } from "../../src/engines/embedded/model/config.ts";
import { outcomeReward } from "../../src/graders/reward.ts";
import { fixedExamples } from "../../src/train/example-source.ts";
import { dapoLoss, type RlOptions } from "../../src/train/rl-options.ts";
import type { Metrics } from "../../src/train/run-folder.ts";
import { trainRl } from "../../src/train/train-rl.ts";
import { type SftOptions, trainSft } from "../../src/train/train-sft.ts";
import { byteTokenizer } from "../fixtures/conformance/byte-tokenizer.ts";

const tokenizer = byteTokenizer();
/** A model that trains in no time. */
export const config = modelConfig({
  vocabularySize: tokenizer.vocabularySize,
  hiddenSize: 16,
  layers: 2,
  heads: 2,
  intermediateSize: 24,
  maxContext: 64,
});
export const base = { config, seed: 3, embeddingDeviation: 0.4, threads: 1 };
export const lora = { rank: 4, alpha: 32, seed: 5 };
/** The same as a server is asked for it, which has the alpha of its own. */
export const farLora = { rank: lora.rank, seed: lora.seed };
/** Sequences to imitate. */
export function walks(): Example[] {
  const random = seededRandom(2, "walks");
  return Array.from({ length: 24 }, () => {
    const tokens = Array.from({ length: 6 + random.below(10) }, () => random.below(40));
    const weights = Float32Array.from(tokens.slice(1), (_, at) => (at < 2 ? 0 : 1));
    return { input: Int32Array.from(tokens.slice(0, -1)), targets: Int32Array.from(tokens.slice(1)), weights };
  });
}

/** Eight steps of imitation. */
export function sft(engine: Engine, path: string, extra: Partial<SftOptions> = {}) {
  return trainSft({
    engine,
    source: fixedExamples(walks(), 64, 3),
    folder: path,
    seed: 3,
    steps: 8,
    checkpointEvery: 3,
    optimizer: { learningRate: 0.01, gradientClip: 1 },
    microBatchTokens: 64,
    evaluation: { every: 4, examples: walks().slice(0, 5) },
    ...extra,
  });
}

/** Four steps of reinforcement on a guessing game. */
export function rl(engine: Engine, path: string, extra: Partial<RlOptions> = {}) {
  const loss = extra.loss ?? { ...dapoLoss, temperature: 0.9 };
  const { temperature } = loss;
  const tasks = [..."ab"].map((letter) => defineTask({ id: letter, question: letter, answers: [letter] }));
  return trainRl({
    engine,
    tokenizer,
    folder: path,
    seed: 4,
    steps: 4,
    loss,
    tasks: (_step, _round, count) => Array.from({ length: count }, (_, at) => tasks[at % 2]!),
    rollout: async (task: Task, { seed, policy }): Promise<Trajectory> => {
      const promptTokens = [task.question.charCodeAt(0), 1, 2];
      const { tokens, logprobs } = await policy.sample({ tokens: promptTokens, maxTokens: 5, seed, temperature });
      const answer = tokens[0]! % 2 === 0 ? "a" : "b";
      return {
        version: 1,
        id: `${task.id}-${seed}`,
        taskId: task.id,
        profile: "none",
        model: "test",
        prompt: [],
        promptTokens,
        segments: [{ tag: "answer", text: answer, by: "model", tokens, logprobs }],
        answer,
        ending: { reason: "answered" },
        usage: emptyUsage(),
        violations: [],
      };
    },
    reward: outcomeReward((task, answer) => ({ correct: task.answers[0] === answer, score: 0, reason: "" })),
    optimizer: { learningRate: 0.01 },
    ...extra,
    collect: { groups: 4, samples: 6, ...extra.collect },
    keep: { checkpointEvery: 2, ...extra.keep },
  });
}

/** Figures of a run, step by step. */
export async function figures(path: string, names: readonly string[]): Promise<number[]> {
  const lines = await readAllJsonl<Metrics>(join(path, "metrics.jsonl"));
  return lines.flatMap((line) => names.flatMap((name) => line[name] ?? []));
}

/** Equal to 1e-5. */
export function close(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, at) => {
    const gap = Math.abs(value - expected[at]!);
    assert.ok(gap <= 1e-5 * Math.max(1, Math.abs(expected[at]!)), `figure ${at}: ${value} and ${expected[at]}`);
  });
}
