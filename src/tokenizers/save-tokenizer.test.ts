import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { loadTokenizer } from "./load-tokenizer.ts";
import { trainTokenizer } from "./train-tokenizer.ts";

describe("a tokenizer beside a model", () => {
  it("says the model's window, names every special token, and says what ends a turn", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-tokenizer-"));
    const tokenizer = trainTokenizer(["some text to learn from"], { vocabularySize: 300 });
    await writeFile(join(folder, "config.json"), JSON.stringify({ max_position_embeddings: 1024 }));
    await tokenizer.save(folder);
    const read = async (name: string) => JSON.parse(await readFile(join(folder, name), "utf8"));
    const config = await read("tokenizer_config.json");
    assert.equal(config.model_max_length, 1024);
    for (const key of ["eos_token", "pad_token", "unk_token"])
      assert.notEqual(tokenizer.specialToken(config[key]), undefined, key);
    assert.deepEqual([(await read("generation_config.json")).eos_token_id].flat(), [...tokenizer.endOfTurn]);
    // A model's own generation settings are kept.
    await writeFile(join(folder, "generation_config.json"), '{"temperature":0.6}');
    await (await loadTokenizer(folder)).save(folder);
    assert.deepEqual(await read("generation_config.json"), { temperature: 0.6 });
    await rm(folder, { recursive: true });
  });
});
