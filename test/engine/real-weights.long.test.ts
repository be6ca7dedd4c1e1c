/**
 * Real weights from GGUF files, sampled greedily by the embedded engine, against what transformers wrote for the same file (stored
 * in test/fixtures, so that no PyTorch is needed). `COA_WEIGHTS` names the folder of the files.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { ggufToFolder } from "../../src/engines/embedded/files/gguf-model.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";

interface Reference {
  prompt: string;
  promptIds: number[];
  ids: number[];
  /** Where the two best logits first differ by less than 1e-3; from there on the texts may differ. */
  firstClose: number | null;
}

const weights = process.env["COA_WEIGHTS"] ?? "";
const models = {
  smollm2: "SmolLM2-135M-Instruct.Q4_1.gguf",
  "qwen-0.5b": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
};

for (const [name, file] of Object.entries(models)) {
  const path = join(weights, file);
  const missing = weights !== "" && existsSync(path) ? false : `COA_WEIGHTS names no folder with ${file}`;
  describe(file, { skip: missing }, () => {
    it("is read as transformers reads it: the same prompts, and the same greedy text up to the first near tie", async () => {
      const fixture = join(import.meta.dirname, `../fixtures/greedy-${name}.json`);
      const references = JSON.parse(readFileSync(fixture, "utf8")) as Reference[];
      const folder = join(await mkdtemp(join(tmpdir(), "coa-real-")), "model");
      await ggufToFolder(path, folder);
      const tokenizer = await loadTokenizer(folder);
      const engine = await openEmbeddedEngine({ folder });
      await Promise.all(
        references.map(async ({ prompt, promptIds, ids, firstClose }) => {
          assert.deepEqual(tokenizer.encodePrompt([{ role: "user", content: prompt }]), promptIds, prompt);
          const request = { tokens: promptIds, maxTokens: ids.length, temperature: 0, stopTokens: [ids.at(-1)!] };
          const { tokens } = await engine.sample(request);
          const certain = firstClose ?? ids.length;
          assert.deepEqual(tokens.slice(0, certain), ids.slice(0, Math.min(certain, tokens.length)), prompt);
        }),
      );
      await engine.close();
      await rm(join(folder, ".."), { recursive: true, force: true });
    });
  });
}
