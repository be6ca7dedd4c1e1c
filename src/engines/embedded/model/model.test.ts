import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import { openRuntime } from "../runtime/runtime.ts";
import { createTrainer } from "../train/create-trainer.ts";
import { compile } from "./compile.ts";
import { checkConfig, configFromHuggingFace, configToHuggingFace, modelConfig } from "./config.ts";
import { checkParameters, initialParameters, layerNames, parameterCount } from "./parameters.ts";

const size = { vocabularySize: 300, hiddenSize: 128, layers: 3, heads: 4, maxContext: 512 };

describe("model config", () => {
  it("survives the way through config.json", () => {
    for (const config of [
      modelConfig(size),
      modelConfig({ ...size, architecture: "qwen3", kvHeads: 2, headSize: 48 }),
      modelConfig({ ...size, architecture: "llama", kvHeads: 2, headSize: 16, tieEmbeddings: false, ropeTheta: 5000 }),
      {
        ...modelConfig({ ...size, architecture: "llama" }),
        ropeScaling: { factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalContext: 8192 },
      },
    ]) {
      assert.deepEqual(configFromHuggingFace(JSON.parse(JSON.stringify(configToHuggingFace(config)))), config);
    }
  });

  it("says what it does not support", () => {
    const json = configToHuggingFace(modelConfig(size));
    const refused = (change: object, pattern: RegExp) =>
      assert.throws(() => configFromHuggingFace({ ...json, ...change }, "here/config.json"), pattern);
    refused({ model_type: "mamba" }, /here\/config\.json: model_type "mamba"/);
    refused({ rope_scaling: { rope_type: "yarn" } }, /rope type "yarn"/);
    refused({ rope_scaling: { rope_type: "llama3", factor: 8 } }, /llama3 without all of its numbers/);
    refused({ model_type: "qwen3", attention_bias: true }, /attention_bias in qwen3/);
    refused({ model_type: "qwen3", layer_types: ["full_attention", "sliding_attention"] }, /layer type "sliding/);
    refused({ hidden_act: "gelu" }, /hidden_act "gelu"/);
    refused({ hidden_size: "big" }, /hidden_size/);
    refused({ num_key_value_heads: 3 }, /can't share 3 key-value heads/);
    assert.throws(() => checkConfig({ ...modelConfig(size), headSize: 3 }), /head size 3 is odd/);
  });
});

describe("initial parameters", () => {
  it("are the same for the same seed and complete", () => {
    const config = modelConfig(size);
    const parameters = initialParameters(config, 4, { copyInit: true });
    checkParameters(config, parameters, "test");
    assert.deepEqual(initialParameters(config, 4, { copyInit: true }), parameters);
    let total = 0;
    for (const { data } of parameters.values()) total += data.length;
    assert.equal(total, parameterCount(config));
    parameters.delete("model.norm.weight");
    assert.throws(() => checkParameters(config, parameters, "there"), /there: tensor model\.norm\.weight is missing/);
  });

  for (const kvHeads of [4, 2, 1]) {
    it(`copy before any training when asked to (${kvHeads} key heads)`, async () => {
      const config = modelConfig({ ...size, kvHeads });
      const random = seededRandom(7);
      // A passage at a random place comes again; all but its first two tokens can be foreseen by copying.
      const pool = Array.from({ length: 300 }, (_, index) => index);
      const ids = Array.from({ length: 120 }, () => pool.splice(Math.floor(random.next() * pool.length), 1)[0]!);
      const start = 10 + Math.floor(random.next() * 80);
      ids.push(...ids.slice(start, start + 20));
      const example = { input: Int32Array.from(ids.slice(0, -1)), targets: Int32Array.from(ids.slice(1)) };
      const runtime = openRuntime({ threads: 1 });
      const meanOfCopied = async (copyInit: boolean) => {
        const parameters = initialParameters(config, 4, { copyInit, embeddingDeviation: 0.3 });
        const trainer = createTrainer({ config, parameters, runtime });
        const { logprobs } = await trainer.forward([example], { name: "cross_entropy" });
        await trainer.close();
        const copied = logprobs[0]!.slice(-18);
        return copied.reduce((total, value) => total + value, 0) / copied.length;
      };
      const [plain, copying] = [await meanOfCopied(false), await meanOfCopied(true)];
      assert.ok(copying > -2.5 && plain < -6, `mean log-probability ${copying} with, ${plain} without`);
    });
  }

  it("refuse the copy circuit where it does not fit", () => {
    const llama = modelConfig({ ...size, architecture: "llama" });
    assert.throws(() => initialParameters(llama, 1, { copyInit: true }), /needs a Qwen2 config/);
    assert.throws(
      () => initialParameters(modelConfig({ ...size, ropeTheta: 10 }), 1, { copyInit: true }),
      /slow and .* fast/,
    );
  });
});

describe("a training graph", () => {
  it("finishes a layer that is computed again, its weights too, before the one below it", () => {
    const config = modelConfig({
      vocabularySize: 20,
      hiddenSize: 16,
      layers: 4,
      heads: 2,
      intermediateSize: 24,
      maxContext: 64,
    });
    const blocks = { rows: 4, again: true, recompute: true } as const;
    const { graph } = compile(config, { kind: "training", blocks });
    const made = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
    const needed = new Set<string>(); // for the gradient of the first layer's first weight
    const wanted = [`gradient:${layerNames(0).queryWeight}`];
    for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
      if (needed.has(name)) continue;
      needed.add(name);
      wanted.push(...(made.get(name)?.inputs ?? []));
    }
    // What an output renames counts as that output.
    const late = graph.outputs.flatMap(({ name }) => {
      const [source = name] = made.get(name)?.operator === "Identity" ? made.get(name)!.inputs : [];
      return /layers\.[12]\./.test(name) && !needed.has(source) ? [name] : [];
    });
    assert.deepEqual(late, []);
  });

  it("writes down every size that can't be inferred, by a name that stands for no other: the runtime shares memory by name", () => {
    const config = modelConfig({
      vocabularySize: 40,
      hiddenSize: 16,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      intermediateSize: 24,
    });
    const blocks = { rows: 4, trunk: 4, scored: 4 };
    const { graph } = compile(config, { kind: "training", blocks });
    const text = Buffer.from(graph.encode()).toString("latin1");
    for (const part of ["", "trunk ", "scored "])
      for (const size of ["block0", "stacked3", "upto2", "keys1"])
        assert.ok(text.includes(`${String.fromCharCode(part.length + size.length)}${part}${size}`), part + size);
  });
});
