/** Two tasks that only a working whole can learn: copying from the context, and arithmetic in the weights. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../base/work/random.ts";
import type { Engine, Example, Sampler } from "../../core/engine.ts";
import { openEmbeddedEngine } from "./embedded-engine.ts";
import { modelConfig } from "./model/config.ts";

/** A task's text and how many of its last tokens are to be learned. */
interface Text {
  tokens: number[];
  answer: number;
}

function toExample({ tokens, answer }: Text, share: number): Example {
  const weights = new Float32Array(tokens.length - 1).fill(share / answer, tokens.length - 1 - answer);
  return { input: Int32Array.from(tokens.slice(0, -1)), targets: Int32Array.from(tokens.slice(1)), weights };
}

async function learn(
  engine: Engine,
  steps: number,
  batch: () => Text[],
  rates: { adam: number; muon: number },
): Promise<void> {
  for (let step = 0; step < steps; step++) {
    const texts = batch();
    await engine.forwardBackward(
      texts.map((text) => toExample(text, 1 / texts.length)),
      { name: "cross_entropy" },
    );
    const rate = Math.min(1, (step + 1) / 10, (2 * (steps - step)) / steps);
    await engine.optimStep({ learningRate: rates.adam * rate, matrixLearningRate: rates.muon * rate, gradientClip: 1 });
  }
}

async function accuracy(engine: Sampler, texts: readonly Text[]): Promise<number> {
  const right = await Promise.all(
    texts.map(async ({ tokens, answer }) => {
      const sample = await engine.sample({ tokens: tokens.slice(0, -answer), maxTokens: answer, temperature: 0 });
      return sample.tokens.join() === tokens.slice(-answer).join();
    }),
  );
  return right.filter(Boolean).length / texts.length;
}

describe("the embedded engine learns", () => {
  it("to copy strings it has never seen from a place that varies", async () => {
    const config = modelConfig({
      vocabularySize: 66,
      hiddenSize: 64,
      layers: 2,
      heads: 2,
      intermediateSize: 96,
      maxContext: 64,
    });
    const engine = await openEmbeddedEngine({ config, seed: 1, copyInit: true, optimizer: "muon" });
    const random = seededRandom(2);
    const below = (limit: number) => Math.floor(random.next() * limit);
    const text = (): Text => {
      const letters = () => {
        const pool = Array.from({ length: 64 }, (_, index) => index);
        return () => pool.splice(below(pool.length), 1)[0]!;
      };
      const next = letters();
      const before = Array.from({ length: below(8) }, next);
      const copied = Array.from({ length: 4 + below(7) }, next);
      const behind = Array.from({ length: below(8) }, next);
      return { tokens: [...before, 64, ...copied, 65, ...behind, 64, ...copied, 65], answer: copied.length + 1 };
    };
    try {
      await learn(engine, 250, () => Array.from({ length: 32 }, text), { adam: 3e-3, muon: 6e-3 });
      assert.equal(await accuracy(engine, Array.from({ length: 200 }, text)), 1);
    } finally {
      await engine.close();
    }
  });

  it("modular addition", async () => {
    const prime = 23;
    const config = modelConfig({
      vocabularySize: prime + 1,
      hiddenSize: 64,
      layers: 1,
      heads: 4,
      intermediateSize: 128,
      maxContext: 8,
    });
    const engine = await openEmbeddedEngine({ config, seed: 1, optimizer: "muon" });
    const all: Text[] = [];
    for (let a = 0; a < prime; a++)
      for (let b = 0; b < prime; b++) all.push({ tokens: [a, b, prime, (a + b) % prime], answer: 1 });
    try {
      await learn(engine, 120, () => all, { adam: 5e-3, muon: 2e-2 });
      assert.equal(await accuracy(engine, all), 1);
    } finally {
      await engine.close();
    }
  });
});
