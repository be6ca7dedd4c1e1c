import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
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
  it("takes a folder, a shipped model by name, and a model of the workspace by name", () => {
    const trained = modelAt("rl", "model");
    const staged = modelAt("quickstart", "sft", "model");
    const find = (name: string) => findModel({ name }, { lab: false });
    assert.deepEqual(find(trained), { kind: "folder", folder: trained });
    assert.deepEqual(find("rl"), { kind: "folder", folder: trained });
    assert.deepEqual(find("quickstart/sft"), { kind: "folder", folder: staged });
    assert.deepEqual(find("sft"), { kind: "folder", folder: staged });
    const shipped = shippedModels()[0]!;
    assert.deepEqual(find(shipped.name), { kind: "folder", folder: shipped.folder });
    modelAt("other", "sft", "model");
    assert.throws(() => find("sft"), /"sft" may be .*other\/sft.*: give the whole name/);
  });

  it("refuses a folder without weights, where no server has them", () => {
    const described = join(folder, ".coa", "models", "described");
    mkdirSync(described, { recursive: true });
    writeFileSync(join(described, "config.json"), "{}");
    assert.throws(() => findModel({ name: described }, { lab: false }), /described has no weights/);
    assert.throws(() => findModel({ name: "described" }, { lab: false }), /no model "described" here/);
    const served = findModel({ name: described, baseUrl: "http://127.0.0.1:1/v1" }, { lab: false });
    assert.equal(served.kind === "server" && served.files, described);
  });

  it("never lets a key in the environment choose an outside host", () => {
    process.env["OPENAI_API_KEY"] = "sk-test";
    assert.equal(findModel({}, { lab: true }).kind, "folder");
    assert.throws(() => findModel({}, { lab: false }), /--base-url openai uses the public API/);
    assert.throws(() => findModel({ name: "gpt-9" }, { lab: false }), /no model "gpt-9" here; there are/);
  });

  it("does not offer the lab's model for real questions", () => {
    assert.throws(() => findModel({}, { lab: false }), /no model: give --model.*coa ask --lab 7/s);
  });

  it("asks the server where one is named, and keeps the folder that says how the model was taught", () => {
    const taught = modelAt("mine");
    assert.deepEqual(findModel({ name: taught, baseUrl: "http://127.0.0.1:1/v1" }, { lab: false }), {
      kind: "server",
      baseURL: "http://127.0.0.1:1/v1",
      name: taught,
      files: taught,
    });
    process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1";
    assert.equal(findModel({ name: "qwen" }, { lab: false }).kind, "server");
    assert.equal(findModel({ name: "mine" }, { lab: false }).kind, "folder");
  });
});
