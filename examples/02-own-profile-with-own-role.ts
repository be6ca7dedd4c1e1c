/**
 * A profile of your own: a clerk who calls your tool, and a critic who must accept the work before the answer. Prompt,
 * rules and validation are all made from this description.
 */
import assert from "node:assert/strict";
import { defineProfile, defineTask, defineTool, runChain, systemPrompt } from "chain-of-agents";
import { scriptedModel } from "chain-of-agents/testing";
import { z } from "zod";

const profile = defineProfile({
  name: "orders",
  purpose: "Answer customers' questions about their orders.",
  start: ["lookup"],
  tags: [
    { name: "lookup", job: "Find an order by its number.", body: { kind: "text" }, tool: "lookup", think: "required", next: ["lookup", "critic"] },
    { name: "critic", job: "Score how well the evidence answers the customer.", body: { kind: "score", phrase: "Evidence: ", min: 1, max: 5 }, think: "forbidden", next: ["lookup", "answer"] },
    { name: "answer", job: "Answer the customer in one sentence.", body: { kind: "text" }, think: "forbidden", next: [] },
  ],
  // A score of the critic below 4 allows no answer.
  gates: [{ tag: "critic", when: "score-below", min: 4, forbids: ["answer"] }],
}); // biome-ignore format: one tag a line

const lookup = defineTool({
  name: "lookup",
  description: "Find an order by its number.",
  input: z.object({ number: z.string() }),
  run: ({ number }) => (number === "A-17" ? "A-17: shipped on Monday, arrives on Thursday" : `no order ${number}`),
});

const model = scriptedModel([
  "<think>Find it.</think><lookup>A-71</lookup>",
  "<critic>Evidence: 1</critic><answer>It is lost.</answer>", // against the critic's veto: refused
  "<think>I mixed up the digits.</think><lookup>A-17</lookup>",
  "<critic>Evidence: 5</critic><answer>It arrives on Thursday.</answer>",
]);
const task = defineTask({ id: "customer", question: "When does my order A-17 arrive?" });
const trajectory = await runChain(task, { model, tools: [lookup], profile, enforcement: "repair" });

console.log(systemPrompt(profile, [lookup]));
console.log(trajectory.answer);
assert.equal(trajectory.answer, "It arrives on Thursday.");
assert.ok(
  trajectory.segments.some((segment) => segment.by === "runtime" && segment.text.includes("answer is not allowed")),
);
