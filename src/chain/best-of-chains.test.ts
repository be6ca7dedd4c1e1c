import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel } from "../testing/index.ts";
import { bestOfChains, listWiseJudge } from "./best-of-chains.ts";

const task = defineTask({ id: "t", question: "q" });

/** Answers in the order the chains begin. */
function answering(answers: readonly (string | null)[]) {
  let next = 0;
  return scriptedModel(() => {
    const answer = answers[next++ % answers.length];
    return answer === null
      ? new Error("broken")
      : `<think>t</think><plan>p</plan><think>t</think><answer>${answer}</answer>`;
  });
}
const judgeThatSays = (text: string): ChatModel & { asked: string[] } => {
  const asked: string[] = [];
  return {
    name: "judge",
    asked,
    async chat({ messages }) {
      asked.push(messages.at(-1)!.content);
      return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 10, completionTokens: 5 } };
    },
  };
};
const base = { tools: [], profile: mhqaProfile, n: 5 };

describe("bestOfChains", () => {
  it("takes the majority, however the answers are spelt", async () => {
    const model = answering(["Paris", "The Lyon", "lyon.", null, "Nice"]);
    const result = await bestOfChains(task, { ...base, model });
    assert.match(result.chosen!.answer!, /lyon/i);
    assert.equal(result.trajectories.length, 5);
    assert.match(result.reason, /^2 of 5/);
    const billed = result.trajectories.reduce((sum, trajectory) => sum + trajectory.usage.billedTokens, 0);
    assert.equal(result.usage.billedTokens, billed);
  });

  it("lets a judge choose among all candidates, and counts what the judge costs", async () => {
    const judge = judgeThatSays("Sure: {'reason': 'supported', 'best': 2,}");
    const result = await bestOfChains(task, {
      ...base,
      n: 3,
      model: answering(["a", "b", "c"]),
      choose: listWiseJudge(judge),
    });
    assert.equal(result.chosen, result.trajectories[1]);
    assert.equal(result.reason, "supported");
    for (const place of [1, 2, 3]) assert.ok(judge.asked[0]!.includes(`Candidate ${place}\n`));
    const billed = result.trajectories.reduce((sum, trajectory) => sum + trajectory.usage.billedTokens, 0);
    assert.equal(result.usage.billedTokens, billed + 15);
  });

  it("falls back to the majority where the judge is of no use", async () => {
    for (const text of ["no idea", '{"best": 9}', ""]) {
      const result = await bestOfChains(task, {
        ...base,
        model: answering(["x", "y", "y", "z", "y"]),
        choose: listWiseJudge(judgeThatSays(text)),
      });
      assert.equal(result.chosen!.answer, "y");
      assert.match(result.reason, /judge/);
    }
    const none = await bestOfChains(task, { ...base, model: answering([null]) });
    assert.equal(none.chosen, null);
  });
});
