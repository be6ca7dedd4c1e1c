import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { naiveForward } from "../../../test/engine/naive-forward.ts";
import { openEmbeddedEngine } from "../../engines/embedded/embedded-engine.ts";
import { loadModelFolder, saveModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { initialParameters } from "../../engines/embedded/model/parameters.ts";
import { scoreTokens } from "./score-tokens.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-score-"));
  const size = { vocabularySize: 64, hiddenSize: 32, layers: 2, heads: 2, kvHeads: 1, maxContext: 64 };
  const config = modelConfig({ architecture: "qwen2", ...size });
  await saveModelFolder(folder, { config, parameters: initialParameters(config, 4) });
});
after(() => rm(folder, { recursive: true, force: true }));

describe("scoreTokens", () => {
  it("scores as a naive forward pass does, and what was sampled as it was sampled", async () => {
    const prompt = [5, 17, 3];
    const engine = await openEmbeddedEngine({ folder });
    const draw = (seed: number) =>
      engine.sample({ tokens: prompt, maxTokens: 6, temperature: 1, seed, stopTokens: [] });
    const [sampled, again, other] = [await draw(3), await draw(3), await draw(4)];
    assert.deepEqual(again, sampled);
    assert.notDeepEqual(other.tokens, sampled.tokens);
    const tokens = [...prompt, ...sampled.tokens];
    const scores = await scoreTokens(engine, tokens);
    await engine.close();
    const { config, parameters } = await loadModelFolder(folder);
    const expected = naiveForward(config, parameters, tokens);
    for (const [index, score] of scores.entries())
      assert.ok(Math.abs(score - expected[index]![tokens[index + 1]!]!) < 1e-4);
    for (const [index, logprob] of sampled.logprobs.entries())
      assert.ok(Math.abs(logprob - scores[prompt.length - 1 + index]!) < 1e-4);
  });
});
