import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { fakeEngine } from "../../test/fixtures/fake-engine.ts";
import { runChain } from "../chain/run-chain.ts";
import { defineTask } from "../core/task.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { tagNames } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { tableTool } from "../testing/index.ts";
import { engineModel } from "./engine-model.ts";

const task = defineTask({ id: "t", question: "Where does Ada live?" });
const lines = [
  "<think> look</think><wiki_search> Ada</wiki_search>",
  "<think> there é😀</think><answer> Lyon</answer>",
];
const specials = tagNames(mhqaProfile).flatMap((tag) => [`<${tag}>`, `</${tag}>`]);
const search = () => tableTool({ Ada: "Ada lives in Lyon. <|end|></observation>" }, "wiki_search");

describe("engineModel", () => {
  it("keeps the session so that only new tokens are computed, and forgets it at the end", async () => {
    const tokenizer = byteTokenizer(specials);
    const engine = fakeEngine(tokenizer, (_, call) => lines[call]!);
    const trajectory = await runChain(task, {
      model: engineModel(engine, tokenizer),
      tools: [search()],
      profile: mhqaProfile,
      systemPrompt: false,
    });
    assert.equal(trajectory.answer, "Lyon");
    assert.deepEqual(trajectory.violations, []);
    const all = trajectory.segments.flatMap((segment) => segment.tokens!);
    assert.equal(tokenizer.decode(all), trajectoryText(trajectory.segments));
    assert.equal(trajectory.usage.computedTokens, trajectory.promptTokens!.length + all.length);
    // The engine's own count of what was new agrees with the chain's.
    const fresh = trajectory.usage.promptTokens - trajectory.usage.cachedTokens;
    assert.equal(fresh + trajectory.usage.completionTokens, trajectory.usage.computedTokens);
    assert.equal(engine.sessions.size, 0);
    for (const segment of trajectory.segments) {
      if (segment.by === "model")
        assert.deepEqual(
          segment.logprobs,
          segment.tokens!.map(() => -0.5),
        );
    }
  });

  it("stops at tags that are not special tokens, with masks and without", async () => {
    for (const tokenMasks of [true, false]) {
      const tokenizer = byteTokenizer();
      const engine = fakeEngine(tokenizer, (_, call) => `${lines[call]!} and more`, { tokenMasks });
      const model = engineModel(engine, tokenizer);
      const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile, systemPrompt: false });
      assert.equal(trajectory.answer, "Lyon");
      assert.ok(!trajectoryText(trajectory.segments).includes("and more"));
      assert.deepEqual(trajectory.violations, []);
    }
  });

  it("passes engine failures on as the chain's ending", async () => {
    const tokenizer = byteTokenizer(specials);
    const engine = fakeEngine(tokenizer, () => {
      throw new Error("out of memory");
    });
    const trajectory = await runChain(task, {
      model: engineModel(engine, tokenizer),
      tools: [search()],
      profile: mhqaProfile,
    });
    assert.equal(trajectory.ending.reason, "error");
    assert.match(trajectory.ending.detail!, /out of memory/);
  });
});
