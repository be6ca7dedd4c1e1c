import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { saveGguf } from "../engines/embedded/files/gguf-model.ts";
import { ggufTokenizer } from "../engines/embedded/files/gguf-tokenizer.ts";
import { modelConfig } from "../engines/embedded/model/config.ts";
import { initialParameters } from "../engines/embedded/model/parameters.ts";
import { findModel, shippedModels } from "./find-model.ts";

const folder = mkdtempSync(join(tmpdir(), "coa-find-model-"));
const before = { ...process.env };
process.env["COA_HOME"] = join(folder, ".coa");
afterEach(() => {
  for (const name of ["OPENAI_API_KEY", "OPENAI_BASE_URL"]) delete process.env[name];
});
after(() => {
  Object.assign(process.env, before);
  rmSync(folder, { recursive: true, force: true });
});
for (const name of ["OPENAI_API_KEY", "OPENAI_BASE_URL"]) delete process.env[name];

/** Makes a folder that looks like a model. */
function modelAt(...parts: string[]): string {
  const path = join(folder, ".coa", ...parts);
  mkdirSync(path, { recursive: true });
  for (const file of ["config.json", "model.safetensors"]) writeFileSync(join(path, file), "{}");
  return path;
}

describe("findModel", () => {
  it("takes a folder, a shipped model by name, and a model of the workspace by name", async () => {
    const trained = modelAt("rl", "model");
    const staged = modelAt("quickstart", "sft", "model");
    const find = (name: string) => findModel({ name }, { lab: false });
    assert.deepEqual(await find(trained), { kind: "folder", folder: trained });
    assert.deepEqual(await find("rl"), { kind: "folder", folder: trained });
    assert.deepEqual(await find("quickstart/sft"), { kind: "folder", folder: staged });
    assert.deepEqual(await find("sft"), { kind: "folder", folder: staged });
    const shipped = shippedModels()[0]!;
    assert.deepEqual(await find(shipped.name), { kind: "folder", folder: shipped.folder });
    modelAt("other", "sft", "model");
    await assert.rejects(find("sft"), /"sft" may be .*other\/sft.*: give the whole name/);
  });

  it("refuses a folder without weights, where no server has them", async () => {
    const described = join(folder, ".coa", "models", "described");
    mkdirSync(described, { recursive: true });
    writeFileSync(join(described, "config.json"), "{}");
    await assert.rejects(findModel({ name: described }, { lab: false }), /described has no weights/);
    await assert.rejects(findModel({ name: "described" }, { lab: false }), /no model "described" here/);
    const served = await findModel({ name: described, baseUrl: "http://127.0.0.1:1/v1" }, { lab: false });
    assert.equal(served.kind === "server" && served.files, described);
  });

  it("never lets a key in the environment choose an outside host", async () => {
    process.env["OPENAI_API_KEY"] = "sk-test";
    assert.equal((await findModel({}, { lab: true })).kind, "folder");
    await assert.rejects(findModel({}, { lab: false }), /--base-url openai uses the public API/);
    await assert.rejects(findModel({ name: "gpt-9" }, { lab: false }), /no model "gpt-9" here; there are/);
  });

  it("does not offer the lab's model for real questions", async () => {
    await assert.rejects(findModel({}, { lab: false }), /no model: give --model.*coa ask --lab 7/s);
  });

  it("asks the server where one is named, and keeps the folder that says how the model was taught", async () => {
    const taught = modelAt("mine");
    assert.deepEqual(await findModel({ name: taught, baseUrl: "http://127.0.0.1:1/v1" }, { lab: false }), {
      kind: "server",
      baseURL: "http://127.0.0.1:1/v1",
      name: taught,
      files: taught,
    });
    process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1";
    assert.equal((await findModel({ name: "qwen" }, { lab: false })).kind, "server");
    assert.equal((await findModel({ name: "mine" }, { lab: false })).kind, "folder");
  });

  it("makes a folder of a GGUF file, once, and keeps a server's where one is named", async () => {
    const model = {
      config: modelConfig({ vocabularySize: 8, hiddenSize: 8, layers: 1, heads: 2, kvHeads: 2, intermediateSize: 8 }),
    };
    const file = join(folder, "tiny.gguf");
    await saveGguf(
      file,
      { ...model, parameters: initialParameters(model.config, 1) },
      { tokenizer: await tinyTokenizer() },
    );
    const made = join(folder, ".coa", "models", "tiny");
    delete process.env["OPENAI_BASE_URL"];
    assert.deepEqual(await findModel({ name: file }, { lab: false }), { kind: "folder", folder: made });
    const before = statSync(join(made, "config.json")).mtimeMs;
    await findModel({ name: file }, { lab: false });
    assert.equal(statSync(join(made, "config.json")).mtimeMs, before);
    const served = await findModel({ name: file, baseUrl: "http://127.0.0.1:1/v1" }, { lab: false });
    assert.equal(served.kind, "server");
  });
});

async function tinyTokenizer() {
  const at = join(folder, "tokenizer");
  mkdirSync(at, { recursive: true });
  const json = {
    added_tokens: [{ id: 3, content: "<end>", special: true }],
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    decoder: { type: "ByteLevel" },
    model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] },
  };
  writeFileSync(join(at, "tokenizer.json"), JSON.stringify(json));
  writeFileSync(join(at, "tokenizer_config.json"), JSON.stringify({ eos_token: "<end>" }));
  return ggufTokenizer(at, 8);
}
