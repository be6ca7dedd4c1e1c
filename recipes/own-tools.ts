/**
 * A chain with a tool and a role of your own. The tool has the shape that the AI SDK uses; the profile says when it may be
 * called. Here a scripted model plays the LLM, so that the file runs anywhere; put `openaiCompatible()` in its place.
 *
 *   node recipes/own-tools.ts
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { defineProfile, defineTask, defineTool, runChain } from "../src/index.ts";
import { scriptedModel } from "../src/testing/index.ts";

const stock = new Map([["blue mug", 12]]);

const lookUpStock = defineTool({
  name: "stock",
  description: "How many of an article are in stock.",
  input: z.object({ article: z.string() }),
  run: ({ article }) => `${stock.get(article.trim()) ?? 0} in stock`,
});

const shopProfile = defineProfile({
  name: "shop",
  purpose: "Answer customers' questions about articles.",
  start: ["stock", "answer"],
  tags: [
    {
      name: "stock",
      job: "Look up an article.",
      tool: "stock",
      body: { kind: "text" },
      think: "optional",
      next: ["stock", "answer"],
    },
    { name: "answer", job: "Answer the customer.", body: { kind: "text" }, think: "optional", next: [] },
  ],
});

const model = scriptedModel(["<stock>blue mug</stock>", "<answer>We have 12 blue mugs.</answer>"]);
const task = defineTask({ id: "mugs", question: "Do you have blue mugs?" });
const trajectory = await runChain(task, { model, tools: [lookUpStock], profile: shopProfile });

for (const segment of trajectory.segments) console.log(`${segment.tag.padEnd(12)}${segment.text.trim()}`);
assert.equal(trajectory.answer, "We have 12 blue mugs.");
assert.deepEqual(trajectory.violations, []);
