import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { writeModelCard } from "./save-trained.ts";

describe("writeModelCard", () => {
  it("names base, data, command and results, and hands the licence of the base on from card to card", async () => {
    const root = await mkdtemp(join(tmpdir(), "coa-card-"));
    const [base, first, second] = await Promise.all(
      ["base", "first", "second"].map((name) => mkdtemp(join(root, name))),
    );
    await writeFile(
      join(base!, "README.md"),
      "---\nlanguage: en\nlicense: apache-2.0\ntags: [x]\n---\n# SmolLM2\n\nlicense: none\n",
    );
    const sft = { stage: "sft", from: "smollm2", data: "d1", seed: 1 };
    await writeModelCard(first!, [sft], { command: "coa train sft", results: { loss: 0.5 } }, base);
    await writeModelCard(second!, [sft, { stage: "rl", from: "sft/model", data: "d2", seed: 2 }], {}, first);
    const read = (folder: string) => readFile(join(folder, "README.md"), "utf8");
    const card = await read(first!);
    assert.match(card, /^---\nbase_model: "smollm2"\nlicense: apache-2.0\nlibrary_name: transformers\n/);
    assert.match(card, /```sh\ncoa train sft\n```/);
    assert.match(card, /\| loss \| 0.5 \|/);
    assert.match(
      await read(second!),
      /base_model: "smollm2"\nlicense: apache-2.0[\s\S]*\| rl \| sft\/model \| d2 \| 2 \|/,
    );
    await writeModelCard(base!, [{ stage: "sft" }], {});
    assert.match(await read(base!), /Licence: not known/);
    await rm(root, { recursive: true });
  });
});
