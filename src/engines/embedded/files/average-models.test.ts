import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { modelConfig } from "../model/config.ts";
import { initialParameters } from "../model/parameters.ts";
import { averageModels, loadModelFolder, saveModelFolder } from "./model-folder.ts";

const size = { vocabularySize: 40, hiddenSize: 16, layers: 2, heads: 4, kvHeads: 2, intermediateSize: 24 };
const config = modelConfig(size);
let folder: string;
const at = (name: string) => join(folder, name);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-average-"));
  for (const seed of [1, 2, 3])
    await saveModelFolder(at(`m${seed}`), { config, parameters: initialParameters(config, seed) });
  await writeFile(join(at("m3"), "tokenizer.json"), "{}");
});
after(() => rm(folder, { recursive: true, force: true }));

describe("averageModels", () => {
  it("writes the mean of every weight, with the last one's tokenizer", async () => {
    await averageModels([at("m1"), at("m2"), at("m3")], at("mean"));
    const mean = await loadModelFolder(at("mean"));
    const models = [1, 2, 3].map((seed) => initialParameters(config, seed));
    for (const [name, { data }] of mean.parameters) {
      data.forEach((value, index) => {
        const expected = models.reduce((sum, model) => sum + model.get(name)!.data[index]!, 0) / 3;
        assert.ok(Math.abs(value - expected) < 1e-6, `${name}[${index}]`);
      });
    }
  });

  it("keeps a share of the model that all began with", async () => {
    await averageModels([at("m1"), at("m2")], at("with-start"), { start: { folder: at("m3"), share: 0.25 } });
    const mixed = await loadModelFolder(at("with-start"));
    const [one, two, start] = [1, 2, 3].map((seed) => initialParameters(config, seed));
    for (const [name, { data }] of mixed.parameters) {
      data.forEach((value, index) => {
        const learned = (one!.get(name)!.data[index]! + two!.get(name)!.data[index]!) / 2;
        const expected = 0.75 * learned + 0.25 * start!.get(name)!.data[index]!;
        assert.ok(Math.abs(value - expected) < 1e-6, `${name}[${index}]`);
      });
    }
    const refused = averageModels([at("m1")], at("never"), { start: { folder: at("m3"), share: 2 } });
    await assert.rejects(refused, /between 0 and 1/);
  });

  it("refuses models of different shapes, and none at all", async () => {
    const other = modelConfig({ ...size, intermediateSize: 32 });
    await saveModelFolder(at("other"), { config: other, parameters: initialParameters(other, 1) });
    await assert.rejects(averageModels([at("m1"), at("other")], at("never")), /different shapes/);
    await assert.rejects(averageModels([], at("never")), /no model folder/);
  });
});
