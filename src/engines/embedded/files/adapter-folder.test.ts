import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createAdapter, mergeAdapter } from "../lora/adapter.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters, type ParameterSet } from "../model/parameters.ts";
import { loadAdapterFolder, saveAdapterFolder } from "./adapter-folder.ts";
import { readSafetensorsHeader } from "./safetensors.ts";

const config = modelConfig({ vocabularySize: 20, hiddenSize: 16, layers: 1, heads: 2, intermediateSize: 24 });

describe("saveAdapterFolder and loadAdapterFolder", () => {
  it("keep PEFT's names, and the model means the same after the round trip", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-adapter-"));
    const adapter = createAdapter(config, { rank: 3, alpha: 5, targets: ["q_proj", "down_proj"] }, 1);
    for (const { data } of adapter.parameters.values()) for (let i = 0; i < data.length; i++) data[i] = Math.sin(i + 1);
    await saveAdapterFolder(join(folder, "a"), adapter, { baseModel: "base" });
    const { tensors } = await readSafetensorsHeader(join(folder, "a", "adapter_model.safetensors"));
    assert.deepEqual(tensors.get("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight")?.shape, [3, 16]);
    const merged = (which: typeof adapter) => {
      const into: ParameterSet = new Map();
      mergeAdapter(initialParameters(config, 1), which, into);
      return into;
    };
    assert.deepEqual(merged(await loadAdapterFolder(join(folder, "a"), config)), merged(adapter));
    const path = join(folder, "a", "adapter_config.json");
    const json = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...json, use_rslora: true }));
    assert.equal((await loadAdapterFolder(join(folder, "a"), config)).alpha, 5 * Math.sqrt(3));
    await writeFile(path, JSON.stringify({ ...json, peft_type: "IA3" }));
    await assert.rejects(
      loadAdapterFolder(join(folder, "a"), config),
      /adapter_config\.json: peft_type "IA3" is not supported/,
    );
    await writeFile(path, JSON.stringify({ ...json, r: 4 }));
    await assert.rejects(loadAdapterFolder(join(folder, "a"), config), /lora_A\.weight has shape \[3,16\].*\[4,16\]/);
    await rm(folder, { recursive: true });
  });
});
