import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { readModelUse, writeModelUse } from "../base/files/model-use-file.ts";
import type { ModelUse } from "../core/model-use.ts";
import { webProfile } from "../language/profiles.ts";
import { saveTrained } from "./save-trained.ts";

const root = await mkdtemp(join(tmpdir(), "coa-save-"));
after(() => rm(root, { recursive: true, force: true }));

const write = (text: string) => async (folder: string) => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "model.safetensors"), text);
};
const engine = { saveModel: write("last"), saveAdapter: write("adapter") };
const tokenizer = byteTokenizer();
const use: ModelUse = { version: 1, language: { profile: webProfile, tools: [] }, question: "bare", training: [] };
const weightsIn = (folder: string) => readFile(join(folder, "model.safetensors"), "utf8");

describe("saveTrained", () => {
  it("keeps how the start was used and every training before this one", async () => {
    const start = join(root, "start", "model");
    await mkdir(start, { recursive: true });
    await writeModelUse(start, { ...use, training: [{ stage: "sft", seed: 1 }] });
    const model = join(root, "rl", "model");
    await saveTrained({ model }, { engine, tokenizer, from: start, training: { stage: "rl", seed: 2 } });
    const written = await readModelUse(model);
    assert.equal(written?.question, "bare");
    const stages = written?.training.map(({ stage, from, seed }) => [stage, from, seed]);
    assert.deepEqual(stages, [
      ["sft", undefined, 1],
      ["rl", "start/model", 2],
    ]);
    assert.ok(written?.training[1]?.packageVersion);
  });

  it("leaves the tokenizer's files that came with the weights as they are, and writes a card", async () => {
    const model = join(root, "kept", "model");
    const weights = async (folder: string) => {
      await write("x")(folder);
      await writeFile(join(folder, "tokenizer.json"), '{ "as": "it was" }');
    };
    await saveTrained(
      { model },
      { engine, tokenizer, weights, training: { stage: "sft" }, card: { command: "coa x" } },
    );
    assert.equal(await readFile(join(model, "tokenizer.json"), "utf8"), '{ "as": "it was" }');
    assert.equal(existsSync(join(model, "tokenizer_config.json")), false);
    assert.match(await readFile(join(model, "README.md"), "utf8"), /coa x/);
  });

  it("writes other weights where they are given, and names no use that is not known", async () => {
    const model = join(root, "mean", "model");
    const options = { engine, tokenizer, training: { stage: "rl" } };
    await saveTrained({ model }, { ...options, weights: write("mean") });
    assert.equal(await weightsIn(model), "mean");
    assert.equal(existsSync(join(model, "coa.json")), false);
    await saveTrained({ model: join(root, "used") }, { ...options, use });
    assert.equal(await weightsIn(join(root, "used")), "last");
    assert.equal((await readModelUse(join(root, "used")))?.training.length, 1);
  });

  it("writes an adapter alone where the weights are elsewhere", async () => {
    const adapter = join(root, "far", "adapter");
    await saveTrained({ adapter }, { engine, tokenizer, use, training: { stage: "rl" } });
    assert.equal(await weightsIn(adapter), "adapter");
    assert.equal(existsSync(join(root, "far", "model")), false);
  });
});
