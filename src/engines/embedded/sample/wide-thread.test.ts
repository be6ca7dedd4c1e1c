import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { createSampler } from "./create-sampler.ts";
import type { SamplerOptions } from "./sampler.ts";
import { isWide } from "./wide-thread.ts";

const shape = { vocabularySize: 300, hiddenSize: 64, layers: 2, heads: 4, kvHeads: 2, intermediateSize: 128 };
const configs = {
  qwen2: modelConfig({ ...shape, maxContext: 1024 }),
  qwen3: modelConfig({ ...shape, maxContext: 1024, architecture: "qwen3", headSize: 32 }),
  llama: modelConfig({ ...shape, maxContext: 1024, architecture: "llama", tieEmbeddings: false }),
};

/** Log-probabilities of greedy tokens: long contexts that begin alike, short ones, then all decoding together. */
function sampled(config: (typeof configs)["qwen2"], options: SamplerOptions): Map<number, number[]> {
  const parameters = initialParameters(config, 5, { embeddingDeviation: 0.3 });
  const sampler = createSampler(config, parameters, { ...options, threads: 2, maxBatch: 32 });
  const random = seededRandom(9);
  const words = Array.from({ length: 700 }, () => random.below(300));
  const got = new Map<number, number[]>();
  const run = () => {
    while (!sampler.idle)
      for (const event of sampler.step()) {
        assert.notEqual(event.type, "failed");
        if (event.type === "token") got.get(event.id)!.push(event.token, event.logprob);
      }
  };
  for (let id = 0; id < 20; id++) {
    got.set(id, []);
    const tokens = id < 3 ? [...words.slice(0, 600), id] : words.slice(id, id * 3);
    sampler.submit({ id, tokens, maxTokens: 3, temperature: 0 });
  }
  run();
  for (const { data } of parameters.values()) for (let at = 0; at < data.length; at += 7) data[at]! *= 1.1;
  sampler.weightsChanged();
  got.set(20, []);
  sampler.submit({ id: 20, tokens: words.slice(0, 90), maxTokens: 2, temperature: 0 });
  run();
  sampler.close();
  return got;
}

describe("steps of many rows", () => {
  for (const [name, config] of Object.entries(configs))
    for (const precision of ["f32", "8bit"] as const)
      it(`give by ONNX Runtime what the tiles give: ${name}, ${precision}, also after the weights changed`, () => {
        const [tiles, wide] = [sampled(config, { precision }), sampled(config, { precision, wide: true })];
        assert.equal(tiles.size, wide.size);
        let apart = 0;
        for (const [id, expected] of tiles)
          for (let at = 0; at < expected.length; at += 2) {
            apart = Math.max(apart, Math.abs(expected[at + 1]! - wide.get(id)![at + 1]!));
            if (expected[at] !== wide.get(id)![at]) break; // a near tie, or the difference says so
          }
        // In 8 bits ONNX Runtime rounds the rows too, to 8 bits where the tiles have 16.
        assert.ok(apart < (precision === "f32" ? 1e-4 : 0.1), `${apart}`);
        assert.ok(apart > 0, "the same bits: it was not used");
      });

  it("are for models whose second copy is small, and large enough to gain", () => {
    const large = { ...shape, layers: 30, hiddenSize: 576, heads: 9, kvHeads: 3, vocabularySize: 49_152 };
    const smollm = modelConfig({ ...large, intermediateSize: 1536 });
    assert.ok(isWide(smollm, "f32") && !isWide(configs.qwen2, "f32"));
    const twice = modelConfig({ ...large, intermediateSize: 6144 });
    assert.ok(!isWide(twice, "f32") && isWide(twice, "8bit"));
  });
});
