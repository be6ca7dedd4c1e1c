/**
 * One model, one tool of your own, one question.
 *
 *   node examples/01-ask-with-own-tool.ts
 *
 * With OPENAI_BASE_URL set it asks that server; without it, a script plays the model.
 */
import assert from "node:assert/strict";
import { defineTool, runChain } from "chain-of-agents";
import { openaiCompatible } from "chain-of-agents/models";
import { scriptedModel } from "chain-of-agents/testing";
import { z } from "zod";

const rivers: Record<string, string> = {
  Lyon: "The Rhône and the Saône meet in Lyon.",
  Rhône: "The Rhône is 813 km long.",
};

const search = defineTool({
  name: "wiki_search",
  description: "Look up a river or a city.",
  input: z.object({ query: z.string().min(1) }),
  run: ({ query }) => rivers[query] ?? `Nothing is known about ${query}.`,
});

const script = [
  "<think>First the river.</think><plan>1. the river in Lyon 2. its length</plan><think>Search.</think><wiki_search>Lyon</wiki_search>",
  "<think>Now its length.</think><wiki_search>Rhône</wiki_search>",
  "<think>Both facts are there.</think><suggested_answer>813 km</suggested_answer>" +
    "<think>Check it.</think><double_check>Both pages agree. The score this time is:4</double_check><answer>813 km</answer>",
];
const scripted = !process.env["OPENAI_BASE_URL"];
const model = scripted ? scriptedModel(script) : openaiCompatible();

const trajectory = await runChain("How long is the longer river that flows through Lyon?", { model, tools: [search] });

for (const { tag, text } of trajectory.segments) console.log(`${tag.padEnd(12)} ${text}`);
console.log(`\n${trajectory.answer} (${trajectory.ending.reason}, ${trajectory.usage.toolCalls} tool calls)`);
if (scripted) {
  assert.equal(trajectory.answer, "813 km");
  assert.deepEqual(trajectory.violations, []);
}
