/** The chain as it happens: events of one stream, printed as they arrive. */
import assert from "node:assert/strict";
import { defineTask, mhqaProfile, streamChain } from "chain-of-agents";
import { openaiCompatible } from "chain-of-agents/models";
import { scriptedModel, tableTool } from "chain-of-agents/testing";

const scripted = !process.env["OPENAI_BASE_URL"];
const model = scripted
  ? scriptedModel([
      "<think>I have to look this up.</think><wiki_search>moons of Mars</wiki_search>",
      "<think>Two names.</think><answer>Phobos|Deimos</answer>",
    ])
  : openaiCompatible();
const tools = [tableTool({ "moons of Mars": "Mars has two moons, Phobos and Deimos." }, "wiki_search")];
const task = defineTask({ id: "mars", question: "Which moons does Mars have?" });

let deltas = 0;
let answer: string | null = null;
for await (const event of streamChain(task, { model, tools, profile: mhqaProfile })) {
  if (event.type === "segment-start") process.stdout.write(`\n[${event.tag}] `);
  if (event.type === "segment-delta") {
    process.stdout.write(event.text);
    deltas++;
  }
  if (event.type === "tool-result")
    process.stdout.write(`\n[${event.tool} took ${event.ms.toFixed(1)} ms] ${event.output}`);
  if (event.type === "chain-end") answer = event.trajectory.answer;
}
console.log();
if (scripted) {
  assert.equal(answer, "Phobos|Deimos");
  assert.ok(deltas > 5, "text came in pieces");
}
