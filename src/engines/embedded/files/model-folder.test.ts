import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { loadModelFolder, saveModelFolder } from "./model-folder.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

const config = modelConfig({
  vocabularySize: 40,
  hiddenSize: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  intermediateSize: 24,
});
const parameters = initialParameters(config, 5);
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-files-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The weights in several files with an index, as large models are published. */
async function splitWeights(path: string, shards: number): Promise<void> {
  const whole = join(path, "model.safetensors");
  const entries = [...(await readSafetensors(whole)).tensors];
  const weightMap: Record<string, string> = {};
  for (let shard = 0; shard < shards; shard++) {
    const file = `model-0000${shard + 1}-of-0000${shards}.safetensors`;
    const part = new Map(entries.filter((_, at) => at % shards === shard));
    await writeSafetensors(join(path, file), part);
    for (const name of part.keys()) weightMap[name] = file;
  }
  await rm(whole);
  await writeFile(join(path, "model.safetensors.index.json"), JSON.stringify({ weight_map: weightMap }));
}

describe("saveModelFolder and loadModelFolder", () => {
  it("give back the same config and the same bits in f32, one file or many", async () => {
    for (const shards of [1, 3]) {
      const path = join(folder, `f32-${shards}`);
      await saveModelFolder(path, { config, parameters }, { generationConfig: { eos_token_id: [3] } });
      if (shards > 1) await splitWeights(path, shards);
      const loaded = await loadModelFolder(path);
      assert.deepEqual(loaded.config, config);
      assert.deepEqual(loaded.generationConfig, { eos_token_id: [3] });
      assert.deepEqual(
        loaded.parameters,
        new Map([...loaded.parameters.keys()].map((name) => [name, parameters.get(name)!])),
      );
      assert.equal(loaded.parameters.size, parameters.size);
    }
  });

  it("round 16-bit weights to within half a unit in the last place", async () => {
    for (const [type, precision] of [
      ["f16", 2 ** -11],
      ["bf16", 2 ** -8],
    ] as const) {
      const path = join(folder, type);
      await saveModelFolder(path, { config, parameters }, { type });
      const loaded = await loadModelFolder(path);
      for (const [name, { data }] of parameters) {
        const read = loaded.parameters.get(name)!.data;
        for (const [i, value] of data.entries())
          assert.ok(Math.abs(read[i]! - value) <= Math.abs(value) * precision + 2 ** -25, name);
      }
    }
  });

  it("keep the number type, the config's other keys and the licence of the folder that a model comes from", async () => {
    const from = join(folder, "bf16-start");
    await saveModelFolder(from, { config, parameters }, { type: "bf16" });
    const json = JSON.parse(await readFile(join(from, "config.json"), "utf8"));
    const known = { ...json, bos_token_id: 1, eos_token_id: [2, 7], pad_token_id: 2, initializer_range: 0.04 };
    await writeFile(join(from, "config.json"), JSON.stringify(known));
    await writeFile(join(from, "LICENSE"), "Apache");
    const trained = join(folder, "bf16-trained");
    await saveModelFolder(trained, { config, parameters }, { companionsFrom: from });
    for (const file of ["config.json", "LICENSE", "model.safetensors"])
      assert.deepEqual(await readFile(join(trained, file)), await readFile(join(from, file)), file);
    const wide = join(folder, "bf16-wide");
    await saveModelFolder(wide, { config, parameters }, { companionsFrom: from, type: "f32" });
    const wider = JSON.parse(await readFile(join(wide, "config.json"), "utf8"));
    assert.deepEqual(wider, { ...known, torch_dtype: "float32" });
    // Another shape has another config: nothing of the old one may contradict it.
    const other = modelConfig({
      vocabularySize: 40,
      hiddenSize: 16,
      layers: 1,
      heads: 4,
      kvHeads: 2,
      intermediateSize: 24,
    });
    await saveModelFolder(wide, { config: other, parameters: initialParameters(other, 5) }, { companionsFrom: from });
    assert.equal(JSON.parse(await readFile(join(wide, "config.json"), "utf8")).num_hidden_layers, 1);
  });

  it("copy the tokenizer's files and leave others behind", async () => {
    const from = join(folder, "with-tokenizer");
    await saveModelFolder(
      from,
      { config, parameters },
      {
        writeMore: async (path) => {
          await writeFile(join(path, "tokenizer.json"), "{}");
          await writeFile(join(path, "notes.txt"), "no");
        },
      },
    );
    const to = join(folder, "copied");
    await saveModelFolder(to, { config, parameters }, { companionsFrom: from });
    assert.deepEqual((await readdir(to)).sort(), ["config.json", "model.safetensors", "tokenizer.json"]);
  });

  it("keep the old folder when writing the new one fails, and find it when a replacement was interrupted", async () => {
    const path = join(folder, "kept");
    await saveModelFolder(path, { config, parameters });
    const failing = saveModelFolder(
      path,
      { config, parameters },
      {
        writeMore: async () => {
          throw new Error("disk full");
        },
      },
    );
    await assert.rejects(failing, /disk full/);
    assert.equal((await loadModelFolder(path)).folder, path);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes("tmp")),
      [],
    );
    const aside = join(dirname(path), `.${basename(path)}.previous`);
    await rename(path, aside); // what a kill between the two renames leaves
    assert.equal((await loadModelFolder(path)).folder, aside);
  });

  it("name tensor and file when weights are truncated, misshapen, missing or of an unknown architecture", async () => {
    const path = join(folder, "broken");
    await saveModelFolder(path, { config, parameters });
    const weights = join(path, "model.safetensors");
    const whole = await readFile(weights);
    await truncate(weights, whole.length - 10);
    await assert.rejects(loadModelFolder(path), /model\.norm\.weight.*model\.safetensors.*truncated/);
    await truncate(weights, 100);
    await assert.rejects(
      loadModelFolder(path),
      /model\.safetensors is not a whole safetensors file: it claims a header/,
    );
    await truncate(weights, 3);
    await assert.rejects(loadModelFolder(path), /3 bytes/);
    const { tensors } = await readSafetensors(join(folder, "f32-1", "model.safetensors"));
    tensors.set("model.norm.weight", { shape: [8], data: new Float32Array(8) });
    await writeSafetensors(weights, tensors);
    await assert.rejects(loadModelFolder(path), /model\.norm\.weight has shape \[8\].*\[16\]/);
    tensors.delete("model.norm.weight");
    await writeSafetensors(weights, tensors);
    await assert.rejects(loadModelFolder(path), /broken: tensor model\.norm\.weight is missing/);
    const json = JSON.parse(await readFile(join(path, "config.json"), "utf8"));
    await writeFile(join(path, "config.json"), JSON.stringify({ ...json, model_type: "mamba" }));
    await assert.rejects(loadModelFolder(path), /broken\/config\.json: model_type "mamba" is not supported/);
    await writeFile(join(path, "config.json"), "{");
    await assert.rejects(loadModelFolder(path), /config\.json is not JSON/);
    await assert.rejects(loadModelFolder(join(folder, "nowhere")), /nowhere\/config\.json/);
  });

  it("survives every single corrupted header byte with an error or the right shapes, never a crash", async () => {
    const path = join(folder, "fuzz.safetensors");
    await writeSafetensors(path, new Map([["a", { shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) }]]));
    const whole = await readFile(path);
    for (let at = 0; at < whole.length - 24; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = bytes[at]! ^ (1 << (at % 8));
      await writeFile(path, bytes);
      try {
        const { tensors } = await readSafetensors(path);
        for (const { shape, data } of tensors.values())
          assert.equal(
            data.length,
            shape.reduce((a, b) => a * b, 1),
          );
      } catch (error) {
        assert.equal((error as Error).name, "CoaError", `byte ${at}: ${error}`);
      }
    }
  });
});
