import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { coaWith } from "../../../test/fixtures/run-coa.ts";
import { saveAdapterFolder } from "../../engines/embedded/files/adapter-folder.ts";
import { loadModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { createAdapter } from "../../engines/embedded/lora/adapter.ts";
import { trainTokenizer } from "../../tokenizers/train-tokenizer.ts";

/** Runs a command line in this process; what it printed as JSON. */
async function coa(...args: string[]) {
  const { code, stdout } = await coaWith({}, ...args);
  return { code, stdout, json: stdout.startsWith("{") ? JSON.parse(stdout) : undefined };
}

let folder: string;
let model: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-model-"));
  model = join(folder, "model");
  const tokenizer = trainTokenizer(["the cat sat on the mat", "the dog sat"], {
    vocabularySize: 300,
    specialTokens: ["<think>"],
  });
  await tokenizer.save(join(folder, "tokenizer"));
  await coa(
    "model",
    "new",
    model,
    "--tokenizer",
    join(folder, "tokenizer"),
    "--hidden",
    "32",
    "--layers",
    "2",
    "--heads",
    "2",
    "--set",
    "newModel.kvHeads=1",
    "--seed",
    "4",
  );
});
after(() => rm(folder, { recursive: true, force: true }));

describe("coa model", () => {
  it("converts to GGUF and back, to 16 bits, and with an adapter, keeping the tokenizer where there is room", async () => {
    const original = await loadModelFolder(model);
    const gguf = join(folder, "model.gguf");
    assert.equal((await coa("model", "convert", model, gguf, "--json")).json.tokenizer, true);
    const again = join(folder, "again.gguf");
    assert.equal((await coa("model", "convert", gguf, again, "--json")).json.tokenizer, true);
    await coa("model", "convert", again, join(folder, "back"));
    assert.deepEqual((await loadModelFolder(join(folder, "back"))).parameters, original.parameters);
    await coa("model", "convert", model, join(folder, "half"), "--type", "f16");
    const info = (await coa("show", join(folder, "half"), "--json")).json;
    assert.deepEqual(info.tokenizer.special.includes("<think>"), true);
    const adapter = createAdapter(original.config, { rank: 2 }, 1);
    for (const { data } of adapter.parameters.values()) data.fill(0.1);
    await saveAdapterFolder(join(folder, "adapter"), adapter);
    await coa("model", "convert", model, join(folder, "merged"), "--adapter", join(folder, "adapter"));
    const merged = (await loadModelFolder(join(folder, "merged"))).parameters;
    const name = "model.layers.0.mlp.up_proj.weight";
    const change = merged.get(name)!.data[5]! - original.parameters.get(name)!.data[5]!;
    assert.ok(Math.abs(change - 2 * 2 * 0.1 * 0.1) < 1e-6); // alpha / rank = 2, two ranks of 0.1 * 0.1
  });

  it("says what to type instead", async () => {
    await assert.rejects(coa("model", "convert", model, "x.gguf", "--type", "bf16"), /one of f32, f16, q8_0/);
    await assert.rejects(coa("model", "new", join(folder, "n")), /--tokenizer <folder> or --vocabulary/);
    const again = [
      "model",
      "new",
      join(folder, "twice"),
      "--vocabulary",
      "64",
      "--hidden",
      "32",
      "--layers",
      "1",
      "--heads",
      "1",
    ];
    await coa(...again);
    await assert.rejects(coa(...again), /holds a model already: choose another folder, or replace it with --replace/);
    await coa(...again, "--replace");
  });
});
