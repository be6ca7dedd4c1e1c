import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { createSampler } from "../sample/create-sampler.ts";
import { readGguf } from "./gguf-format.ts";
import { loadGguf, reorderRows, saveGguf } from "./gguf-model.ts";
import { ggufTokenizer } from "./gguf-tokenizer.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-gguf-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const sizes = { vocabularySize: 48, hiddenSize: 32, layers: 2, heads: 4, kvHeads: 2, intermediateSize: 40 };

describe("saveGguf and loadGguf", () => {
  it("give back the same model in f32, and a close one in f16 and q8_0", async () => {
    for (const architecture of ["llama", "qwen2", "qwen3"] as const) {
      const config = modelConfig({ ...sizes, architecture, tieEmbeddings: architecture !== "llama", rmsEpsilon: 1e-5 });
      const parameters = initialParameters(config, 2);
      for (const [type, tolerance] of [
        ["f32", 0],
        ["f16", 2 ** -11],
        ["q8_0", 1 / 127],
      ] as const) {
        const path = join(folder, `${architecture}-${type}.gguf`);
        await saveGguf(path, { config, parameters }, { type });
        const loaded = await loadGguf(path);
        assert.deepEqual(loaded.config, config);
        for (const [name, { data }] of parameters) {
          const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
          for (const [index, value] of loaded.parameters.get(name)!.data.entries())
            assert.ok(Math.abs(value - data[index]!) <= largest * tolerance, `${name} ${type}`);
        }
      }
    }
  });

  it("reorder rows there and back", () => {
    const tensor = { shape: [8, 1], data: Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7) };
    const neighbours = reorderRows(tensor, 2, "neighbours");
    assert.deepEqual([...neighbours.data], [0, 2, 1, 3, 4, 6, 5, 7]);
    assert.deepEqual(reorderRows(neighbours, 2, "halves"), tensor);
  });

  it("carry the tokenizer: tokens by id, kinds, merges, end of text, and a name for the pre-tokenizer", async () => {
    const write = (pattern: string) =>
      writeFile(
        join(folder, "tokenizer.json"),
        JSON.stringify({
          added_tokens: [
            { id: 3, content: "<end>", special: true },
            { id: 4, content: "</answer>", special: true },
            { id: 5, content: "<|user|>", special: true },
          ],
          pre_tokenizer: {
            type: "Sequence",
            pretokenizers: [
              { type: "Split", pattern: { Regex: pattern } },
              { type: "ByteLevel", use_regex: false },
            ],
          },
          model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] },
        }),
      );
    await write("\\p{N}| ?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");
    await writeFile(
      join(folder, "tokenizer_config.json"),
      JSON.stringify({ eos_token: "<end>", chat_template: "{{ x }}" }),
    );
    const config = modelConfig({ ...sizes, vocabularySize: 7 });
    const path = join(folder, "tokens.gguf");
    const tokenizer = await ggufTokenizer(folder, 7);
    await saveGguf(
      path,
      { config, parameters: initialParameters(config, 1) },
      { tokenizer, use: { question: "bare" } },
    );
    const { metadata } = await readGguf(path);
    assert.equal(metadata.get("coa.use"), '{"question":"bare"}');
    assert.deepEqual(metadata.get("tokenizer.ggml.tokens"), [
      "a",
      "b",
      "ab",
      "<end>",
      "</answer>",
      "<|user|>",
      "[UNUSED_6]",
    ]);
    assert.deepEqual(metadata.get("tokenizer.ggml.token_type"), [1, 1, 1, 3, 4, 3, 5]);
    assert.deepEqual(metadata.get("tokenizer.ggml.merges"), ["a b"]);
    assert.equal(metadata.get("tokenizer.ggml.eos_token_id"), 3);
    assert.equal(metadata.get("tokenizer.ggml.pre"), "starcoder");
    assert.equal(metadata.get("tokenizer.chat_template"), "{{ x }}");
    await assert.rejects(ggufTokenizer(folder, 3), /token 3 "<end>" is beyond the model's 3/);
    await write("[a-z]+");
    await assert.rejects(ggufTokenizer(folder, 7), /\[a-z\]\+ has no name in llama\.cpp/);
  });

  it("name file and tensor when something is broken, and never crash on a flipped byte", async () => {
    const config = modelConfig({ ...sizes, vocabularySize: 8, layers: 1 });
    const path = join(folder, "broken.gguf");
    await saveGguf(path, { config, parameters: initialParameters(config, 1) });
    const whole = await readFile(path);
    const headEnd =
      whole.length - 4 * [...initialParameters(config, 1).values()].reduce((sum, { data }) => sum + data.length, 0);
    for (let at = 0; at < headEnd; at += 3) {
      const bytes = Buffer.from(whole);
      bytes[at] = bytes[at]! ^ (1 << (at % 8));
      await writeFile(path, bytes);
      await loadGguf(path).catch((error) => assert.equal(error.name, "CoaError", `byte ${at}: ${error.stack}`));
    }
    await writeFile(path, whole);
    await truncate(path, whole.length - 64);
    await assert.rejects(loadGguf(path), /tensor .* in .*broken\.gguf ends at byte .* truncated/);
    await truncate(path, 40);
    await assert.rejects(loadGguf(path), /broken\.gguf is not a whole GGUF file/);
  });
});

const stories = join(import.meta.dirname, "../../../../../shared/fixtures/stories260K");
const missing = existsSync(stories) ? false : "the stories260K weights are not here";

/** Reads llama2.c's format: seven sizes, then all weights in a fixed order; rotary positions turn neighbours. */
function readLlama2c(path: string): { config: ReturnType<typeof modelConfig>; parameters: ParameterSet } {
  const bytes = readFileSync(path);
  const numbers = new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 28));
  const [hiddenSize, intermediateSize, layers, heads, kvHeads, vocabulary, maxContext] = [...numbers] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const config = modelConfig({
    ...{
      architecture: "llama",
      vocabularySize: Math.abs(vocabulary),
      hiddenSize,
      layers,
      heads,
      kvHeads,
      intermediateSize,
    },
    ...{ maxContext, ropeTheta: 10_000, rmsEpsilon: 1e-5, tieEmbeddings: vocabulary > 0 },
  });
  const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 28, bytes.byteOffset + bytes.length));
  let at = 0;
  const take = (...shape: number[]) => ({ shape, data: data.slice(at, (at += shape.reduce((a, b) => a * b, 1))) });
  const keys = kvHeads * config.headSize;
  const parameters: ParameterSet = new Map([["model.embed_tokens.weight", take(config.vocabularySize, hiddenSize)]]);
  const perLayer = (suffix: string, make: () => { shape: number[]; data: Float32Array }) => {
    for (let layer = 0; layer < layers; layer++) parameters.set(`model.layers.${layer}.${suffix}.weight`, make());
  };
  perLayer("input_layernorm", () => take(hiddenSize));
  perLayer("self_attn.q_proj", () => reorderRows(take(hiddenSize, hiddenSize), heads, "halves"));
  perLayer("self_attn.k_proj", () => reorderRows(take(keys, hiddenSize), kvHeads, "halves"));
  perLayer("self_attn.v_proj", () => take(keys, hiddenSize));
  perLayer("self_attn.o_proj", () => take(hiddenSize, hiddenSize));
  perLayer("post_attention_layernorm", () => take(hiddenSize));
  perLayer("mlp.gate_proj", () => take(intermediateSize, hiddenSize));
  perLayer("mlp.down_proj", () => take(hiddenSize, intermediateSize));
  perLayer("mlp.up_proj", () => take(intermediateSize, hiddenSize));
  parameters.set("model.norm.weight", take(hiddenSize));
  return { config, parameters };
}

/** llama2.c's tokenizer file: the longest token's length, then score, length and bytes of every token. */
function readPieces(path: string): string[] {
  const bytes = readFileSync(path);
  const pieces: string[] = [];
  for (let at = 4; at < bytes.length; ) {
    const length = bytes.readInt32LE(at + 4);
    pieces.push(bytes.toString("utf8", at + 8, (at += 8 + length)));
  }
  return pieces;
}

function greedy(model: { config: ReturnType<typeof modelConfig>; parameters: ParameterSet }, count: number): number[] {
  const sampler = createSampler(model.config, model.parameters);
  sampler.submit({ id: 1, tokens: [1], maxTokens: count, temperature: 0 });
  const tokens: number[] = [];
  while (!sampler.idle) for (const event of sampler.step()) if (event.type === "token") tokens.push(event.token);
  sampler.close();
  return tokens;
}

describe("real weights", { skip: missing }, () => {
  it("tell an English story, the same from llama2.c's file, from the GGUF, and from a GGUF of our own", async () => {
    const model = readLlama2c(join(stories, "stories260K.bin"));
    const tokens = greedy(model, 120);
    const pieces = readPieces(join(stories, "tok512.bin"));
    const text = tokens.map((token) => pieces[token]).join("");
    assert.match(
      text,
      /^ Once upon a time, there was a little girl named Lily\. She loved to play outside in the park\./,
    );
    const theirs = await loadGguf(join(stories, "stories260K.gguf"));
    for (const [name, { data }] of model.parameters) assert.deepEqual(theirs.parameters.get(name)?.data, data, name);
    assert.deepEqual(theirs.config, model.config);
    const path = join(folder, "ours.gguf");
    await saveGguf(path, model);
    assert.deepEqual(greedy(await loadGguf(path), 120), tokens);
    await saveGguf(path, model, { type: "q8_0" });
    assert.match(
      greedy(await loadGguf(path), 40)
        .map((token) => pieces[token])
        .join(""),
      /^ Once upon a time, there was/,
    );
  });
});
