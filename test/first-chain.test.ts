/** The first program of a user: a question, a model, tools, and nothing else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { defineTool, runChain, streamChain } from "../src/index.ts";
import { scriptedModel } from "../src/testing/index.ts";

const look = defineTool({
  name: "look_up",
  description: "Look up one page.",
  input: z.object({ page: z.string() }),
  run: ({ page }) => `${page}: five days`,
});
const model = () =>
  scriptedModel((request) =>
    request.text.includes("<observation>")
      ? "<think>Found.</think><suggested_answer>five</suggested_answer><think>Sure.</think><double_check>The score this time is:4</double_check><answer>five</answer>"
      : '<think>Begin.</think><plan>look it up</plan><think>Look.</think><look_up>{"page": "leave"}</look_up>',
  );

describe("runChain with a question alone", () => {
  it("makes the task of the question and the profile of the tools", async () => {
    const trajectory = await runChain("How many days of leave carry over?", { model: model(), tools: [look] });
    assert.equal(trajectory.answer, "five");
    assert.deepEqual(trajectory.violations, []);
    assert.equal(trajectory.prompt.at(-1)?.content, "How many days of leave carry over?");
    assert.ok(trajectory.language?.profile.tags.some(({ tool }) => tool === "look_up"));
    const call = trajectory.segments.find(({ by }) => by === "tool")?.call;
    assert.deepEqual([call?.tool, call?.input, call?.ok], ["look_up", { page: "leave" }, true]);
    const again = await runChain("How many days of leave carry over?", { model: model(), tools: [look] });
    assert.equal(again.taskId, trajectory.taskId, "equal questions are equal tasks");
  });

  it("streams the same chain", async () => {
    const events = await Array.fromAsync(streamChain("How many days?", { model: model(), tools: [look] }));
    const end = events.find((event) => event.type === "chain-end");
    assert.equal(end?.trajectory.answer, "five");
  });
});
