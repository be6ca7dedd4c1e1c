import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TokensView } from "../../api/tokens-reader.ts";
import { classOfShade, colouringOf, figureOf, strikingTokens, visiblePiece } from "./token-figures.ts";

const view = {
  tokens: [5, 6, 7, 8],
  weights: [0, 1, 1, 0.5],
  logprobs: [null, -0.01, -2, -40],
  rollout: { advantage: -0.9, reward: 0, baseline: 0.6 },
  advantages: [null, -0.9, 0, 0.9],
} as unknown as TokensView;

describe("the colours of tokens", () => {
  it("are eight shades on each side of nothing, and a value that is tiny has none", () => {
    const { shades, strengths } = figureOf("logprob", view, undefined, undefined);
    assert.deepEqual([...shades], [0, 0, 4, 8]);
    assert.equal(strengths[3], 80, "how striking a token is has no limit");
    assert.deepEqual([...figureOf("advantage", view, undefined, undefined).shades], [0, -3, 0, 3]);
    assert.deepEqual([-8, 0, 8].map(classOfShade), ["t d8", "t", "t u8"]);
  });

  it("show every learned token alike, whatever its weight, and keep the weights", () => {
    const mask = figureOf("mask", view, undefined, undefined);
    assert.deepEqual([...mask.shades], [0, 8, 8, 8]);
    assert.deepEqual(mask.values, view.weights);
    assert.equal(mask.says, "3 of 4 tokens are learned");
    assert.equal(colouringOf("no such figure").name, "mask");
  });

  it("tell two models apart where both have a value", () => {
    const { values, shades, missing } = figureOf("diff", view, [null, -1, -1, -1], [null, -0.5, null, -2]);
    assert.deepEqual(values, [null, 0.5, null, -1]);
    assert.deepEqual([...shades], [0, 2, 0, -4]);
    assert.equal(missing, undefined);
    assert.match(figureOf("diff", view, undefined, undefined).missing!, /Choose a model/);
    assert.match(figureOf("entropy", view, undefined, undefined).missing!, /entropies/);
  });

  it("say in words what the whole chain is, and step through what is most striking", () => {
    assert.equal(
      figureOf("logprob", view, [null, -1, -1, -1], undefined).says,
      "mean log-prob −1.000 (a probability of 36.8 %)",
    );
    assert.equal(figureOf("advantage", view, undefined, undefined).says, "advantage −0.90 (reward 0, baseline 0.600)");
    assert.deepEqual(strikingTokens(figureOf("logprob", view, undefined, undefined)), [3, 2, 1]);
  });

  it("name signs that hide or reorder text instead of obeying them", () => {
    assert.equal(visiblePiece("a\u202eb\u200b"), "a⟨202e⟩b⟨200b⟩");
    assert.equal(visiblePiece("x\n\u0000"), "x⏎\n⟨0⟩");
    assert.equal(visiblePiece("plain\ttext"), "plain\ttext");
  });
});
