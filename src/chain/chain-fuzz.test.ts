import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { memoryJournal } from "../../test/fixtures/memory-journal.ts";
import { testSize } from "../../test/fixtures/test-size.ts";
import type { ChainRecord } from "../core/chain-record.ts";
import { defineTask } from "../core/task.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { defineProfile, tagNames } from "../language/profile.ts";
import { multiProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { runChain } from "./run-chain.ts";

function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 4294967296;
  };
}

const tags = tagNames(multiProfile);
const pieces = [
  ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag}>a</${tag}>`]),
  "<think>t</think>",
  "<web_search>x</web_search>",
  "<code>\n```py\nprint('<answer>')\n```\n</code>",
  "<crawl_page>https://a.b|c</crawl_page>",
  '<visual_inspector>{"file_path": ',
  "<double_check>The score this time is:2</double_check>",
  "words é😀 \ud83d",
  " \n",
  "<",
  "<|end|>",
  "```",
];

describe("a chain over nonsense", () => {
  it("never throws, loses no character, and resumes to the same trajectory", async () => {
    const next = random(4711);
    const rounds = testSize(300, 2000);
    for (let round = 0; round < rounds; round++) {
      const profile = defineProfile({ ...multiProfile, maxParallelCalls: 1 + (round % 3) });
      const onTokens = round % 2 === 1;
      const special = round % 4 === 3;
      const tokenizer = onTokens
        ? byteTokenizer(special ? tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`]) : [])
        : undefined;
      const lines = Array.from({ length: 12 }, () =>
        Array.from({ length: Math.floor(next() * 8) }, () => pieces[Math.floor(next() * pieces.length)]).join(""),
      );
      const make = (from = 0) =>
        scriptedModel(lines.slice(from), { tokenizer, ignoreStops: round % 5 === 0, chunkSize: 1 + (round % 9) });
      const options = {
        tools: [tableTool({ x: "y </observation><answer>no</answer>" })],
        profile,
        enforcement: (["report", "repair"] as const)[(round % 2) ^ (round % 3 === 0 ? 1 : 0)]!,
        limits: { maxSteps: 8, maxTokensPerCall: 5 + Math.floor(next() * 60) },
        id: "same",
      };
      const model = make();
      const journal = memoryJournal<ChainRecord>();
      const trajectory = await runChain(defineTask({ id: "t", question: "q" }), { ...options, model, journal });
      trajectorySchema.parse(trajectory);
      const what = JSON.stringify({ round, lines, ending: trajectory.ending });
      assert.notEqual(trajectory.ending.reason, "error", what);
      const written = trajectoryText(trajectory.segments);
      for (const request of model.requests) assert.ok(written.startsWith(request.text), what);
      if (tokenizer) {
        const ids = [...trajectory.promptTokens!, ...trajectory.segments.flatMap((segment) => segment.tokens ?? [])];
        for (const { tokens } of model.requests) assert.deepEqual(tokens, ids.slice(0, tokens!.length), what);
        for (const segment of trajectory.segments) {
          if (segment.by === "model") assert.equal(segment.logprobs?.length, segment.tokens?.length, what);
        }
      }
      const turns = journal.records.filter((record) => record.type === "turn").length;
      const cut = Math.floor(next() * journal.records.length);
      const kept = structuredClone(journal.records.slice(0, cut));
      const known = kept.filter((record) => record.type === "turn").length;
      const resumed = await runChain(defineTask({ id: "t", question: "q" }), {
        ...options,
        model: make(known),
        journal: memoryJournal(kept),
      });
      assert.equal(trajectoryText(resumed.segments), written, what);
      assert.equal(resumed.usage.billedTokens, trajectory.usage.billedTokens, what);
      assert.ok(turns >= known);
    }
  });
});
