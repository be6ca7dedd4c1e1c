import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { naiveForward } from "../../../../test/engine/naive-forward.ts";
import { seededRandom } from "../../../base/work/random.ts";
import { loadModelFolder, saveModelFolder } from "../files/model-folder.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { createSampler } from "./create-sampler.ts";
import type { SamplerOptions } from "./sampler.ts";
import { groupInputs } from "./wasm/matmul-8bit.ts";
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

/** A row in whole steps of its groups' largest values. */
const inSteps = (row: Float64Array, steps: number) =>
  row.map((value, at) => {
    const group = row.subarray(at - (at % groupInputs), at - (at % groupInputs) + groupInputs);
    const step = group.reduce((largest, one) => Math.max(largest, Math.abs(one)), 1e-20) / steps;
    return Math.round(value / step) * step;
  });

/** The log-probability of the greedy token after a context of 90 positions: by a sampler, and in plain loops over the same bytes. */
function afterContext(
  config: (typeof configs)["qwen2"],
  wide: boolean,
): { sampled: number; rounded: number; exact: number } {
  const parameters = initialParameters(config, 5, { embeddingDeviation: 0.3 });
  const sampler = createSampler(config, parameters, { precision: "8bit", wide });
  // Not 1.1: embeddings are whole numbers of steps here, and eleven tenths of them are ties, which either way of rounding may break.
  for (const { data } of parameters.values()) for (let at = 0; at < data.length; at += 7) data[at]! *= 1.1370421;
  sampler.weightsChanged();
  const random = seededRandom(9);
  const tokens = Array.from({ length: 90 }, () => random.below(300));
  sampler.submit({ id: 1, tokens, maxTokens: 1, temperature: 0 });
  const events = [];
  while (!sampler.idle) events.push(...sampler.step());
  sampler.close();
  const [event] = events.filter(({ type }) => type === "token");
  assert.ok(event?.type === "token");
  for (const { data, shape } of parameters.values())
    if (shape.length === 2) data.set(inSteps(Float64Array.from(data), 127));
  const after = (steps: number) =>
    naiveForward(config, parameters, tokens, (row) => inSteps(row, steps)).at(-1)![event.token]!;
  return { sampled: event.logprob, rounded: after(127), exact: after(2 ** 15 - 1) };
}

describe("steps of many rows", () => {
  for (const [name, config] of Object.entries(configs)) {
    it(`give by ONNX Runtime what the tiles give: ${name}, also after the weights changed`, () => {
      const [tiles, wide] = [sampled(config, {}), sampled(config, { wide: true })];
      assert.equal(tiles.size, wide.size);
      let apart = 0;
      for (const [id, expected] of tiles)
        for (let at = 0; at < expected.length; at += 2) {
          apart = Math.max(apart, Math.abs(expected[at + 1]! - wide.get(id)![at + 1]!));
          if (expected[at] !== wide.get(id)![at]) break; // a near tie, or the difference says so
        }
      assert.ok(apart < 1e-4, `${apart}`);
      assert.ok(apart > 0, "the same bits: it was not used");
    });

    it(`in 8 bits round the rows to 8 bits, where the tiles keep 16, and nothing else: ${name}`, () => {
      const [tiles, wide] = [afterContext(config, false), afterContext(config, true)];
      assert.ok(Math.abs(tiles.sampled - tiles.exact) < 1e-3, `${tiles.sampled}, not ${tiles.exact}`);
      assert.ok(Math.abs(wide.sampled - wide.rounded) < 1e-3, `${wide.sampled}, not ${wide.rounded}`);
      assert.notEqual(wide.sampled, tiles.sampled, "it was not used");
    });
  }

  it("are for models whose second copy is small, and large enough to gain", () => {
    const large = { ...shape, layers: 30, hiddenSize: 576, heads: 9, kvHeads: 3, vocabularySize: 49_152 };
    const smollm = modelConfig({ ...large, intermediateSize: 1536 });
    assert.ok(isWide(smollm, "f32") && !isWide(configs.qwen2, "f32"));
    const twice = modelConfig({ ...large, intermediateSize: 6144 });
    assert.ok(!isWide(twice, "f32") && isWide(twice, "8bit"));
  });
});

describe("weights that are read from a file", () => {
  it("are packed from pieces of 4 MB, never from a whole embedding, to the same bits", async () => {
    const config = modelConfig({ ...shape, vocabularySize: 30_000, maxContext: 128, architecture: "llama" });
    const folder = await mkdtemp(join(tmpdir(), "coa-pieces-"));
    try {
      await saveModelFolder(folder, { config, parameters: initialParameters(config, 5, { embeddingDeviation: 0.3 }) });
      const kept = (await loadModelFolder(folder)).parameters;
      let largest = 0;
      const counted: ParameterSet = new Map();
      for (const [name, { shape, read }] of (await loadModelFolder(folder, { later: true })).parameters) {
        const counting = (start: number, end: number) => {
          largest = Math.max(largest, 4 * (end - start));
          return read!(start, end);
        };
        const all = shape.reduce((product, size) => product * size);
        counted.set(name, {
          shape,
          read: counting,
          get data() {
            return counting(0, all);
          },
        });
      }
      for (const wide of [false, true]) {
        const answers = [kept, counted].map((parameters) => {
          const sampler = createSampler(config, parameters, { maxBatch: 2, precision: "8bit", wide });
          sampler.submit({
            id: 1,
            tokens: Array.from({ length: 40 }, (_, at) => at * 700),
            maxTokens: 4,
            temperature: 0,
          });
          const events: unknown[] = [];
          while (!sampler.idle) events.push(...sampler.step());
          sampler.close();
          return events;
        });
        assert.ok(answers[0]!.length >= 4);
        assert.deepEqual(answers[1], answers[0]);
      }
      assert.ok(largest > 2 ** 21 && largest <= 2 ** 22, `${largest} bytes at once`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
