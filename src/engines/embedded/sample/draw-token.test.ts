import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import { drawFromLogits } from "./draw-token.ts";

/** The distribution by its definition: sort everything, cut, renormalise. */
function distribution(
  logits: Float32Array,
  temperature: number,
  topK: number,
  topP: number,
  allowed?: readonly number[],
) {
  const all = [...(allowed ?? logits.keys())].map((id) => ({ id, weight: Math.exp(logits[id]! / temperature) }));
  all.sort((a, b) => b.weight - a.weight || a.id - b.id);
  const first = topK > 0 ? all.slice(0, topK) : all;
  const total = first.reduce((sum, { weight }) => sum + weight, 0);
  let reached = 0;
  const kept = first.filter(({ weight }) => {
    const needed = reached < topP * total;
    reached += weight;
    return needed;
  });
  const sum = kept.reduce((before, { weight }) => before + weight, 0);
  return new Map(kept.map(({ id, weight }) => [id, weight / sum]));
}

describe("drawFromLogits", () => {
  it("reaches exactly the ids of the definition, with their log-probabilities", () => {
    const random = seededRandom(3);
    for (let round = 0; round < 200; round++) {
      const logits = Float32Array.from({ length: 2 + Math.floor(random.next() * 40) }, () => 3 * random.normal());
      const temperature = 0.3 + 2 * random.next();
      const topK = random.next() < 0.5 ? 0 : 1 + Math.floor(random.next() * 10);
      const topP = random.next() < 0.5 ? 1 : random.next();
      const some = [...logits.keys()].filter(() => random.next() < 0.6);
      const allowed = some.length > 0 && random.next() < 0.5 ? some.toReversed() : undefined;
      const expected = distribution(logits, temperature, topK, topP, allowed);
      const expectedEntropy = [...expected.values()].reduce((sum, p) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
      const seen = new Set<number>();
      for (let draw = 0; draw < 400; draw++) {
        const uniform = () => (draw + 0.5) / 400;
        const options = { temperature, topK, topP, allowed, uniform, entropy: true };
        const { token, logprob, entropy } = drawFromLogits(logits, options);
        assert.ok(Math.abs(entropy! - expectedEntropy) < 1e-9);
        assert.ok(expected.has(token), `${token} of ${[...expected.keys()]}`);
        assert.ok(Math.abs(Math.exp(logprob) - expected.get(token)!) < 1e-9);
        seen.add(token);
      }
      for (const [id, probability] of expected) if (probability > 1 / 200) assert.ok(seen.has(id));
    }
  });

  it("takes the largest allowed logit at temperature 0 and reports it as scoring would", () => {
    const logits = Float32Array.of(1, 4, 2, 3);
    const options = { temperature: 0, topK: 0, topP: 1, uniform: () => 0 };
    const drawn = drawFromLogits(logits, { ...options, allowed: [0, 2, 3] });
    assert.equal(drawn.token, 3);
    assert.ok(Math.abs(drawn.logprob - (3 - Math.log(Math.exp(1) + Math.exp(2) + Math.exp(3)))) < 1e-9);
    assert.throws(() => drawFromLogits(logits, { ...options, allowed: [9] }), /id 9, but the vocabulary ends at 3/);
    assert.throws(() => drawFromLogits(Float32Array.of(1, Number.NaN), options), /weights are broken/);
  });
});
