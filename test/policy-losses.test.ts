/**
 * The embedded engine's policy losses against formulas written out token by token. Old log-probabilities are set so that
 * the ratios lie below, within and above the clip range, and far beyond the dual clip. Since the slope of every token's
 * loss by its log-probability is known, the gradient of a policy loss must equal that of a cross-entropy whose weights are
 * minus these slopes; equal gradients make equal optimizer steps, so it is the weights after one step that are compared.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { totalLoss } from "../src/base/count/policy-loss.ts";
import { seededRandom } from "../src/base/work/random.ts";
import type { Example, LossSpec } from "../src/core/engine.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/embedded-engine.ts";
import { tokenLoss } from "./fixtures/conformance/tabular-engine.ts";

const config = {
  architecture: "qwen2" as const,
  vocabularySize: 48,
  hiddenSize: 32,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headSize: 16,
  intermediateSize: 64,
  ropeTheta: 1e4,
  rmsEpsilon: 1e-6,
  tieEmbeddings: true,
  qkvBias: true,
  maxContext: 64,
};
const losses: LossSpec[] = [
  { name: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  { name: "ppo", clipLow: 0.2, clipHigh: 0.28 },
  { name: "cispo", clipLow: 0.2, clipHigh: 0.28 },
  { name: "importance_sampling" },
];
const ratios = [0.5, 0.79, 0.81, 1, 1.27, 1.29, 2, 2.9, 3.2, 8];

describe("policy losses of the embedded engine", () => {
  for (const loss of losses) {
    it(`equal the formulas, value and gradient: ${JSON.stringify(loss)}`, async () => {
      const open = () => openEmbeddedEngine({ config, seed: 4, threads: 1, optimizer: "adamw" });
      const [policy, reference] = [await open(), await open()];
      try {
        const random = seededRandom(7, "losses").next;
        const plain = Array.from({ length: 6 }, (_, row): Example => {
          const tokens = Int32Array.from({ length: 12 + 5 * row }, () => Math.floor(random() * config.vocabularySize));
          return { input: tokens.slice(0, -1), targets: tokens.slice(1) };
        });
        const { logprobs } = await policy.forward(plain, { name: "cross_entropy" });
        const examples = plain.map((example, row): Example => {
          const chosen = example.targets.map((_, at) => (at * 7 + row) % ratios.length);
          return {
            ...example,
            // Observations carry no advantage: every fourth token is one.
            advantages: Float32Array.from(example.targets, (_, at) => (at % 4 === 3 ? 0 : random() < 0.5 ? 0.7 : -1.3)),
            oldLogprobs: Float32Array.from(chosen, (pick, at) => logprobs[row]![at]! - Math.log(ratios[pick]!)),
          };
        });
        let expected = 0;
        const weighted = examples.map((example, row): Example => {
          const weights = Float32Array.from(example.targets, (_, at) => {
            const token = { weight: 1, oldLogprob: example.oldLogprobs![at]!, advantage: example.advantages![at]! };
            const { value, slope } = tokenLoss(loss, logprobs[row]![at]!, token);
            expected += value;
            return -slope;
          });
          return { input: example.input, targets: example.targets, weights };
        });
        const measured = totalLoss(examples, loss, (await policy.forwardBackward(examples, loss)).logprobs);
        assert.ok(
          Math.abs(measured - expected) < 1e-3 * Math.max(1, Math.abs(expected)),
          `loss ${measured}, by the formula ${expected}`,
        );
        await reference.forwardBackward(weighted, { name: "cross_entropy" });
        const step = { learningRate: 1e-2, epsilon: 1e-3 };
        const [a, b] = [await policy.optimStep(step), await reference.optimStep(step)];
        assert.ok(
          Math.abs(a.gradientNorm! - b.gradientNorm!) < 1e-4 * b.gradientNorm!,
          `${a.gradientNorm} and ${b.gradientNorm}`,
        );
        const [after, same] = [
          await policy.forward(plain, { name: "cross_entropy" }),
          await reference.forward(plain, { name: "cross_entropy" }),
        ];
        after.logprobs.forEach((row, index) => {
          const worst = Math.max(...row.map((value, at) => Math.abs(value - same.logprobs[index]![at]!)));
          assert.ok(worst < 1e-3, `log-probabilities differ by ${worst}`);
        });
      } finally {
        await policy.close();
        await reference.close();
      }
    });
  }
});
