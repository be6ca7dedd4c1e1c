import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { modelConfig, openEmbeddedEngine } from "../../index.ts";
import { loadGguf, saveGguf } from "./gguf-model.ts";
import { loadModelFolder, saveModelFolder } from "./model-folder.ts";

describe("model files, from outside", () => {
  it("go from an engine to a folder, to GGUF, and back into an engine that samples the same", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-public-"));
    const config = modelConfig({ vocabularySize: 30, hiddenSize: 16, layers: 1, heads: 2 });
    const request = { tokens: [1, 2, 3], maxTokens: 12, seed: 3 };
    const engine = await openEmbeddedEngine({ config, seed: 2, threads: 1 });
    const expected = await engine.sample(request);
    await engine.saveModel(join(folder, "model"));
    await engine.close();
    await saveGguf(join(folder, "model.gguf"), await loadModelFolder(join(folder, "model")));
    await saveModelFolder(join(folder, "again"), await loadGguf(join(folder, "model.gguf")));
    const again = await openEmbeddedEngine({ folder: join(folder, "again"), threads: 1 });
    assert.deepEqual(await again.sample(request), expected);
    await again.close();
    await rm(folder, { recursive: true });
  });
});
