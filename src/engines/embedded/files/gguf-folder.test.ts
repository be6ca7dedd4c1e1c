import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadTokenizer } from "../../../tokenizers/load-tokenizer.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { type GgufValue, readGguf } from "./gguf-format.ts";
import { ggufToFolder, saveGguf } from "./gguf-model.ts";
import { ggufTokenizer } from "./gguf-tokenizer.ts";
import { loadModelFolder } from "./model-folder.ts";

let folder: string;
const alphabet = ["a", "b", "c", "Ġ", "1", "2", "ab", "Ġa", "Ġc"];
const vocabularySize = alphabet.length + 3;
const config = modelConfig({
  ...{ architecture: "llama", vocabularySize, hiddenSize: 32, layers: 1, heads: 4, kvHeads: 2 },
  ...{ intermediateSize: 32, tieEmbeddings: true, rmsEpsilon: 1e-5 },
});

/** Writes a folder's tokenizer into a GGUF file as other writers do: without the files themselves. */
async function foreignGguf(path: string, tokenizerFolder: string): Promise<Map<string, GgufValue>> {
  const metadata = await ggufTokenizer(tokenizerFolder, vocabularySize);
  for (const key of metadata.keys()) if (!/^tokenizer\.(ggml|chat)/.test(key)) metadata.delete(key);
  await saveGguf(path, { config, parameters: initialParameters(config, 3) }, { tokenizer: metadata, type: "q8_0" });
  return metadata;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-gguf-folder-"));
  const tokenizer = join(folder, "tokenizer");
  await mkdir(tokenizer);
  const json = {
    added_tokens: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map((content, index) => ({
      id: alphabet.length + index,
      content,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Digits", individual_digits: true },
        { type: "ByteLevel", add_prefix_space: false, use_regex: true },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(alphabet.map((token, id) => [token, id])),
      merges: [["a", "b"], ["Ġ", "a"], ["Ġ", "c"]], // biome-ignore format: one line shows what merges
    },
  };
  await writeFile(join(tokenizer, "tokenizer.json"), JSON.stringify(json));
  const template = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
  const special = { bos_token: "<|im_start|>", eos_token: "<|im_end|>", pad_token: "<|im_end|>" };
  await writeFile(join(tokenizer, "tokenizer_config.json"), JSON.stringify({ ...special, chat_template: template }));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("ggufToFolder", () => {
  it("makes a folder that trains: weights, ids of special tokens, tokenizer and template of the one file", async () => {
    const path = join(folder, "model.gguf");
    const metadata = await foreignGguf(path, join(folder, "tokenizer"));
    assert.deepEqual(metadata.get("tokenizer.ggml.pre"), { type: "string", value: "smollm" });
    const target = join(folder, "model");
    await ggufToFolder(path, target);

    const { parameters, config: read } = await loadModelFolder(target);
    assert.deepEqual(read, config);
    const { tensors } = await readGguf(path);
    assert.deepEqual(parameters.get("model.embed_tokens.weight")!.data, tensors.get("token_embd.weight")!.data);

    const [before, after] = await Promise.all([loadTokenizer(join(folder, "tokenizer")), loadTokenizer(target)]);
    for (const text of ["ab a 12 ca", "<|im_end|>".replaceAll(/[^abc12 ]/g, "a")])
      assert.deepEqual(after.encode(text), before.encode(text));
    assert.deepEqual(after.endOfTurn, [vocabularySize - 1]);
    const prompt = [{ role: "user" as const, content: "ab 1" }];
    assert.deepEqual(after.encodePrompt(prompt), before.encodePrompt(prompt));
    const generation = JSON.parse(await readFile(join(target, "generation_config.json"), "utf8"));
    assert.deepEqual(generation, { bos_token_id: 10, eos_token_id: [11], pad_token_id: 11 });
  });

  it("refuses a pre-tokenizer that it does not know, by its name", async () => {
    const path = join(folder, "other.gguf");
    const metadata = await ggufTokenizer(join(folder, "tokenizer"), vocabularySize);
    metadata.set("tokenizer.ggml.pre", { type: "string", value: "tekken" });
    metadata.delete("tokenizer.huggingface.json");
    await saveGguf(path, { config, parameters: initialParameters(config, 3) }, { tokenizer: metadata });
    await assert.rejects(ggufToFolder(path, join(folder, "other")), /other\.gguf splits text as "tekken"; gpt-2/);
  });
});
