import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { findModels } from "./tokens-reader.ts";

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "coa-find-models-"));
  for (const folder of ["mine/model", "other/model", "chains/model"]) {
    await mkdir(join(root, folder), { recursive: true });
    for (const file of ["config.json", "model.safetensors"]) await writeFile(join(root, folder, file), "{}");
  }
  await writeFile(join(root, "chains", "chains.jsonl"), "");
});
after(() => rm(root, { recursive: true, force: true }));

describe("models for the token view", () => {
  it("are those in what was opened, not whatever else lies beside it", () => {
    const opened = (...paths: string[]) => findModels({ root, paths: paths.map((path) => join(root, path)) });
    assert.deepEqual(opened("mine", "chains/chains.jsonl"), ["chains/model", "mine/model"]);
    assert.deepEqual(opened("mine/model", "mine"), ["mine/model"]);
    assert.deepEqual(opened("."), ["chains/model", "mine/model", "other/model"]);
  });
});
