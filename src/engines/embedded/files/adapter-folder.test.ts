import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createAdapter, mergedParameters } from "../lora/adapter.ts";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
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
    const merged = (which: typeof adapter) =>
      new Map([...mergedParameters(initialParameters(config, 1), which)].map(([name, { data }]) => [name, data]));
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

  it("honours ranks and scales of single modules, as PEFT does", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-adapter-"));
    const path = join(folder, "a");
    const adapter = createAdapter(config, { rank: 2, alpha: 6, targets: ["q_proj", "v_proj"] }, 1);
    for (const { data } of adapter.parameters.values()) for (let i = 0; i < data.length; i++) data[i] = Math.cos(i + 1);
    await saveAdapterFolder(path, adapter);
    const json = JSON.parse(await readFile(join(path, "adapter_config.json"), "utf8"));
    // The files say: rank 4 in general, but both modules have rank 2; alpha is 8, and 3 on v_proj.
    await writeFile(
      join(path, "adapter_config.json"),
      JSON.stringify({
        ...json,
        r: 4,
        lora_alpha: 8,
        rank_pattern: { "(q|v)_proj": 2 },
        alpha_pattern: { "layers.0.self_attn.v_proj": 3 },
      }),
    );
    const base = initialParameters(config, 1);
    const loaded = mergedParameters(base, await loadAdapterFolder(path, config));
    for (const [module, alpha] of [
      ["q_proj", 8],
      ["v_proj", 3],
    ] as const) {
      const expected = mergedParameters(base, { ...adapter, alpha });
      const name = `model.layers.0.self_attn.${module}.weight`;
      const found = loaded.get(name)!.data;
      expected.get(name)!.data.forEach((value, at) => {
        assert.ok(Math.abs(value - found[at]!) < 1e-5, `${module}: ${value} and ${found[at]}`);
      });
    }
    await rm(folder, { recursive: true });
  });

  it("reads what PEFT 0.21 and SkyRL write: a group size without its method, and targets as a rule or not at all", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-adapter-"));
    const path = join(folder, "a");
    await saveAdapterFolder(path, createAdapter(config, { rank: 2, targets: ["v_proj", "up_proj"] }, 1));
    const file = join(path, "adapter_config.json");
    const json = JSON.parse(await readFile(file, "utf8"));
    for (const target_modules of [null, ".*(v|up)_proj"]) {
      await writeFile(file, JSON.stringify({ ...json, target_modules, use_qalora: false, qalora_group_size: 16 }));
      assert.deepEqual((await loadAdapterFolder(path, config)).targetModules, ["v_proj", "up_proj"]);
    }
    await writeFile(file, JSON.stringify({ ...json, use_qalora: true, qalora_group_size: 16 }));
    await assert.rejects(loadAdapterFolder(path, config), /use_qalora true is not supported/);
    await rm(folder, { recursive: true });
  });

  it("refuses by name whatever else would change results", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-adapter-"));
    const path = join(folder, "a");
    await saveAdapterFolder(path, createAdapter(config, { rank: 2 }, 1));
    const file = join(path, "adapter_config.json");
    const json = JSON.parse(await readFile(file, "utf8"));
    for (const extra of [
      { modules_to_save: ["lm_head"] },
      { layers_to_transform: [0] },
      { layer_replication: [[0, 1]] },
      { lora_bias: true },
      { trainable_token_indices: [3] },
      { init_lora_weights: "pissa" },
      { something_new: { a: 1 } },
    ]) {
      await writeFile(file, JSON.stringify({ ...json, ...extra }));
      const [key] = Object.keys(extra);
      await assert.rejects(loadAdapterFolder(path, config), new RegExp(`${key} .*is not supported`));
    }
    const harmless = { modules_to_save: null, layers_to_transform: [], init_lora_weights: true, peft_version: "0.18" };
    await writeFile(file, JSON.stringify({ ...json, ...harmless }));
    await loadAdapterFolder(path, config);
    await rm(folder, { recursive: true });
  });
});
