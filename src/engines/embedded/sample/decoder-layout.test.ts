import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { modelConfig } from "../model/config.ts";
import { decoderLayout, sampledContext } from "./decoder-layout.ts";

const options = { threads: 2, maxBatch: 256 };

describe("sampledContext", () => {
  it("is the model's own context where one fits into the memory beside the weights", () => {
    const qwen25 = { vocabularySize: 151_936, hiddenSize: 896, layers: 24, heads: 14, kvHeads: 2 };
    const config = modelConfig({ ...qwen25, intermediateSize: 4864, maxContext: 32_768 });
    assert.equal(sampledContext(config, options), 32_768);
    decoderLayout(config, { ...options, maxContext: 32_768 });
  });

  it("is the longest that fits where the model's own does not", () => {
    const qwen3 = { vocabularySize: 151_936, hiddenSize: 1024, layers: 28, heads: 16, kvHeads: 8, headSize: 128 };
    const config = modelConfig({ ...qwen3, architecture: "qwen3", intermediateSize: 3072, maxContext: 40_960 });
    const maxContext = sampledContext(config, options);
    assert.ok(maxContext > 4096 && maxContext < 40_960, `${maxContext}`);
    decoderLayout(config, { ...options, maxContext });
    assert.throws(() => decoderLayout(config, { ...options, maxContext: maxContext + 64 }), /the sampler has 4096 MiB/);
  });

  it("leaves the refusal of a model whose weights do not fit to the layout", () => {
    const config = modelConfig({ vocabularySize: 151_936, hiddenSize: 2048, layers: 36, heads: 16, maxContext: 4096 });
    assert.throws(() => sampledContext(config, options), /use a smaller model/);
  });
});
