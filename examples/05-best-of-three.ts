/** Three chains for one question, and a judge that sees them side by side. */
import assert from "node:assert/strict";
import { type ChatModel, defineTask, mhqaProfile } from "chain-of-agents";
import { bestOf, byJudge, chainSystem } from "chain-of-agents/evaluate";
import { scriptedModel, tableTool } from "chain-of-agents/testing";

const task = defineTask({ id: "capital", question: "What was the capital of Bolivia's highest court in 1900?" });
const tools = [tableTool({ "Bolivia court": "The supreme court has always sat in Sucre." }, "wiki_search")];

// Two chains guess; one looks it up.
const guess = "<think>I know.</think><plan>answer</plan><think>Sure.</think><answer>La Paz</answer>";
const search = "<think>Look.</think><wiki_search>Bolivia court</wiki_search>";
let started = 0;
const model = scriptedModel(({ text }) => {
  if (text.includes("Sucre")) return "<think>The source says so.</think><answer>Sucre</answer>";
  return started++ === 1 ? search : guess;
});

// Any chat model can judge; this one looks for evidence.
const judge: ChatModel = {
  name: "judge",
  async chat({ messages }) {
    const shown = messages
      .at(-1)!
      .content.split(/(?=Candidate \d)/)
      .slice(1);
    const best = shown.findIndex((candidate) => candidate.includes("always sat in Sucre")) + 1;
    const text = JSON.stringify({ reason: "the only one with a source", best });
    return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 300, completionTokens: 12 } };
  },
};

const chain = chainSystem({ model, tools, profile: mhqaProfile });
const judged = await bestOf(chain, 3, byJudge({ model: judge })).run(task, { sample: 0, seed: 0 });
console.log(`judge: ${judged.answer} (${judged.chosen?.reason}), ${judged.usage.billedTokens} tokens in all`);
assert.equal(judged.answer, "Sucre");

started = 0;
const voted = await bestOf(chain, 3).run(task, { sample: 0, seed: 0 });
console.log(`majority: ${voted.answer} (${voted.chosen?.reason})`);
assert.equal(voted.answer, "La Paz");
