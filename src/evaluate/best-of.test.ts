import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChatModel } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { emptyUsage } from "../core/usage.ts";
import { taskGrader } from "../graders/grade-task.ts";
import { mhqaProfile, webProfile } from "../language/profiles.ts";
import { runTeam } from "../team/run-team.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { bestOf, majoritySuccess } from "./best-of.ts";
import { chainSystem } from "./chain-system.ts";
import { byMajority, type Candidate, sameAnswer } from "./choose.ts";
import { defineSystem } from "./define-system.ts";
import type { EvaluationRecord } from "./evaluation-record.ts";
import { byJudge } from "./judge-choice.ts";

const task = defineTask({ id: "t", question: "How high is it?" });
const math = defineTask({ id: "m", question: "q", kind: "math", answers: ["1/2"] });
const grader = taskGrader();
const once = { sample: 0, seed: 0 };

/** Chains that answer in the order they begin; null is a model that breaks. */
function chains(answers: readonly (string | null)[]) {
  let next = 0;
  const model = scriptedModel(() => {
    const answer = answers[next++ % answers.length];
    return answer === null
      ? new Error("broken")
      : `<think>t</think><plan>p</plan><think>t</think><answer>${answer}</answer>`;
  });
  return chainSystem({ model, tools: [tableTool({}, "wiki_search")], profile: mhqaProfile });
}

/** A team whose answer depends on its seed. */
const team = defineSystem({
  name: "team",
  run: (one, { seed }) =>
    runTeam(one, {
      roles: {
        manager: ({ messages }) => (messages.length === 2 ? "1. x" : `${800 + seed}`),
        default: () => "The score this time is:4",
      },
      tools: [],
    }),
});

function judgeThatSays(reply: (content: string) => string): ChatModel & { asked: string[] } {
  const asked: string[] = [];
  return {
    name: "judge",
    asked,
    async chat({ messages }) {
      asked.push(messages.at(-1)!.content);
      const text = reply(messages.at(-1)!.content);
      return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 10, completionTokens: 5, cachedTokens: 4 } };
    },
  };
}

describe("bestOf", () => {
  it("takes the majority of chains, however the answers are spelt, and counts all of them", async () => {
    const result = await bestOf(chains(["Paris", "The Lyon", "lyon.", null, "Nice"]), 5).run(task, once);
    assert.match(result.answer!, /lyon/i);
    assert.equal(result.chosen!.candidates.length, 5);
    assert.match(result.chosen!.reason, /^2 of 5/);
    const billed = result.chosen!.candidates.reduce((sum, { usage }) => sum + usage.billedTokens, 0);
    assert.equal(result.usage.billedTokens, billed);
    assert.ok(Math.abs(Object.values(result.tokensByRole).reduce((a, b) => a + b, 0) - billed) < 1e-6);
  });

  it("lets a judge choose among chains side by side, and counts what the judge costs", async () => {
    const judge = judgeThatSays(() => "Sure: {'reason': 'supported', 'best': 2,}");
    const price = { input: 1e6, output: 0, cachedInput: 0 };
    const result = await bestOf(chains(["a", "b", "c"]), 3, byJudge({ model: judge, prices: price })).run(task, once);
    assert.equal(result.answer, "b");
    assert.equal(result.chosen!.reason, "supported");
    for (const place of [1, 2, 3]) assert.ok(judge.asked[0]!.includes(`Candidate ${place}\n`));
    const own = result.chosen!.candidates.map(({ usage }) => usage);
    assert.equal(result.usage.billedTokens, own.reduce((sum, usage) => sum + usage.billedTokens, 0) + 15);
    assert.equal(result.usage.costUsd, 6);
    assert.equal(result.usage.cachedTokens, own.reduce((sum, usage) => sum + usage.cachedTokens, 0) + 4);
    assert.equal(result.tokensByRole["judge"], 15);
  });

  it("chooses among team runs with different seeds", async () => {
    const listed = await bestOf(team, 3, byJudge({ model: judgeThatSays(() => "Best: 2") })).run(task, once);
    assert.equal(listed.answer, "801");
    assert.equal(listed.usage.modelCalls, 3 * 3 + 1);
    assert.equal(listed.run?.kind, "team-run");
  });

  it("asks no judge where all agree, and takes the majority where the judge is of no use", async () => {
    const unused = judgeThatSays(() => assert.fail());
    assert.equal((await bestOf(chains(["a", "A."]), 2, byJudge({ model: unused })).run(task, once)).answer, "a");
    for (const text of ["no idea", '{"best": 9}', ""]) {
      const judge = byJudge({ model: judgeThatSays(() => text) });
      const result = await bestOf(chains(["x", "y", "y", "z", "y"]), 5, judge).run(task, once);
      assert.equal(result.answer, "y");
      assert.match(result.chosen!.reason, /judge/);
    }
  });

  it("has no answer where no candidate has one, and survives a candidate that crashes", async () => {
    const none = await bestOf(chains([null]), 3).run(task, once);
    assert.deepEqual([none.answer, none.chosen!.index], [null, null]);
    const crashing = defineSystem({
      name: "s",
      async run(one, { sample }) {
        if (sample === 0) throw new Error("down");
        return chains(["ok"]).run(one, once);
      },
    });
    const result = await bestOf(crashing, 2).run(task, once);
    assert.equal(result.answer, "ok");
    assert.equal(result.chosen!.candidates[0]!.ending.detail, "down");
  });
});

describe("byMajority", () => {
  const candidates = (...all: [answer: string | null][]): Candidate[] => all.map(([answer]) => ({ answer }));

  it("counts answers that mean the same as one, by the task's own rules", async () => {
    assert.equal(await sameAnswer(grader, math, "0.5", "\\frac{1}{2}"), true);
    assert.equal(await sameAnswer(grader, { ...math, kind: "qa" }, "0.5", "\\frac{1}{2}"), false);
    const five = candidates(["3"], ["0.5"], ["3"], ["1/2"], ["\\frac12"]);
    assert.equal((await byMajority(grader)(math, five, {})).index, 1);
    assert.equal((await byMajority(grader)(math, candidates([null], ["7"], ["0.5"]), {})).index, 1);
  });
});

describe("the score of a check", () => {
  it("is the last one that a chain or a team gave its answer", async () => {
    const verified = (score: number) =>
      `<think>t</think><plan>p</plan><think>t</think><suggested_answer>${score}</suggested_answer><think>t</think>` +
      `<double_check>The score this time is:${score}</double_check><answer>${score}</answer>`;
    let next = 0;
    const model = scriptedModel(() => verified([3, 4, 3][next++ % 3]!));
    const chain = chainSystem({ model, tools: [tableTool({}, "web_search")], profile: webProfile });
    assert.equal((await chain.run(task, once)).check, 3);
    assert.equal((await team.run(task, once)).check, 4);
    assert.equal((await chains(["a"]).run(task, once)).check, undefined);
  });
});

describe("choosing among the samples of an evaluation", () => {
  function records(answers: (string | null)[], right: string): EvaluationRecord[] {
    return answers.map((answer, sample) => ({
      version: 1,
      system: "s",
      taskId: "m",
      sample,
      seed: sample,
      answer,
      grade: { correct: answer === right, score: 0, reason: "" },
      ending: { reason: "answered" },
      usage: emptyUsage(),
      toolCalls: {},
      tokensByRole: {},
    }));
  }

  it("gives the majority's success; a task without samples counts as none", async () => {
    assert.equal(await majoritySuccess([math], records(["a", "a", null, "b"], "b"), grader), 0);
    const all = records(["b", "a", null, "b"], "b");
    assert.equal(await majoritySuccess([math], all, grader), 1);
    assert.equal(await majoritySuccess([math, { ...math, id: "none" }], all, grader), 1 / 2);
    assert.equal(await majoritySuccess([math], [], grader), 0);
  });
});
