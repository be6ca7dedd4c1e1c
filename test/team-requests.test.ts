/** What the rules of our team write in the user's name is never taken for the user: every text of it, as real runs write it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../src/base/work/random.ts";
import type { Message } from "../src/core/message.ts";
import { askedQuestion, teamRequestIn, teamRequests } from "../src/language/team-moves.ts";
import { callsToRuns } from "../src/record/calls-to-runs.ts";
import type { RecordedCall } from "../src/record/recorded-call.ts";
import { beginsTurn } from "../src/record/user-turn.ts";
import { wildRun } from "./fixtures/wild-team.ts";

describe("the team's requests", () => {
  it("begin no new turn after a reply without a call, and are all known by their text", async () => {
    const random = seededRandom(5).next;
    const question: Message = { role: "user", content: "Who is the mayor?" };
    const seen = new Set<unknown>();
    for (let round = 0; round < 120; round++) {
      const limits = { managerSteps: 14, agentSteps: 4, replans: round % 3, historyCharacters: round % 7 ? 1e6 : 300 };
      const run = await wildRun(round, random, { limits });
      for (const { input } of run.steps) {
        const [first, ...others] = input.map((key) => run.messages[key]!).filter(({ role }) => role === "user");
        const asked = first && teamRequestIn(first.content);
        if (asked) seen.add(asked);
        for (const message of others) {
          const request = teamRequestIn(message.content);
          assert.ok(request, message.content);
          seen.add(request);
          const before = { messages: [question], text: "Lyon", toolCalls: [] };
          const reply: Message = { role: "assistant", content: "Lyon" };
          assert.equal(beginsTurn(before, { messages: [question, reply, message] }), false, message.content);
        }
      }
      const start = run.messages[run.steps[0]!.input[1]!]!.content;
      assert.equal(askedQuestion(start), question.content);
    }
    const unseen = Object.values(teamRequests).filter((request) => !seen.has(request));
    assert.deepEqual(unseen, [], "no run wrote it");
  });

  it("make a recording of any run one run, with its question and its answer", async () => {
    const random = seededRandom(6).next;
    for (let round = 0; round < 60; round++) {
      // The small team marks its answer in a text, which recordings of it do not show as one: such a run has no answer.
      const topology = round % 2 === 0 ? "agents-as-tools" : "handoff";
      const run = await wildRun(round, random, { topology });
      const toolsOf = new Map(run.agents.flatMap(({ name, tools }) => (tools ? [[name, tools] as const] : [])));
      const calls = run.steps.map((step, index): RecordedCall => {
        const { name } = run.agents.find(({ id }) => id === step.agentId)!;
        return {
          ...{ id: `call-${index}`, runId: "one", startedAt: 2 * index, endedAt: 2 * index + 1, outcome: "complete" },
          ...{ promptTokens: 1, completionTokens: 1, text: step.text, tools: toolsOf.get(name) ?? [] },
          messages: step.input.map((key) => run.messages[key]!).map(({ name: _name, ...message }) => message),
          toolCalls: step.toolCalls.map(({ id, name, arguments: input }) => ({ id, name, arguments: input })),
        };
      });
      const found = callsToRuns(calls, "proxy").map(({ question, answer }) => [question, answer]);
      assert.deepEqual(found, [[run.question, run.answer]], `round ${round}`);
    }
  });

  it("are found at both ends of a message, however much evidence stands between", () => {
    const evidence = "a page\n\n".repeat(20_000);
    const { review, handBack } = teamRequests;
    assert.equal(teamRequestIn(`Question: who?\n\nWork so far:\n${evidence}${review.text} They differ.`), review);
    assert.equal(teamRequestIn(`${evidence} ${handBack.text}`), handBack);
    assert.equal(teamRequestIn(evidence), undefined);
  });

  it("leave what a person writes alone", () => {
    const before = { messages: [{ role: "user" as const, content: "Who?" }], text: "Lyon", toolCalls: [] };
    const begins = (content: string) =>
      beginsTurn(before, {
        messages: [...before.messages, { role: "assistant", content: "Lyon" }, { role: "user", content }],
      });
    for (const said of ["And the plan: who carried it out?", "Has the mayor reported?", "Question: and the river?"])
      assert.equal(begins(said), true, said);
  });
});
