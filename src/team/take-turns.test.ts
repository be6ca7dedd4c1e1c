import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import type { ChatModel } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { defineTool } from "../core/tool.ts";
import { distillRun } from "../distill/distill-run.ts";
import { codeProfile } from "../language/profiles.ts";
import { runTeam } from "./run-team.ts";

const task = defineTask({
  id: "t1",
  question: "Tom has 3 boxes of 12 eggs and breaks 5. How many are left?",
  answers: ["31"],
});
const code = defineTool({
  name: "code",
  description: "Run a program.",
  input: z.object({ code: z.string() }),
  run: ({ code }) => (code.includes("+ 5") ? "41" : "31"),
});

/** A model behind a server, playing every role from one list of replies; it keeps what it was sent. */
function player(name: string, replies: readonly string[]) {
  const requests: Parameters<ChatModel["chat"]>[0][] = [];
  const model: ChatModel = {
    name,
    chat: async (request) => {
      requests.push(request);
      const text = replies[Math.min(requests.length, replies.length) - 1]!;
      return { text, toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
    },
  };
  return { model, requests };
}

const plan = "1. 3 boxes of 12 eggs\n2. 5 break\n3. asked: how many are left";
const right = "```python\nprint(3 * 12 - 5)\n```\nThe output will be 29.";
const wrong = "```python\nprint(3 * 12 + 5)\n```";
const agrees = "3 boxes of 12 eggs are 36 eggs. 36 - 5 = 31.\nAnswer: Tom has 31 eggs left.";
const scored = "Every number is used.\nThe score this time is:4";
const moves = (run: TeamRun) => run.steps.map((step) => step.move);

async function play(replies: readonly string[], name = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf") {
  const { model, requests } = player(name, replies);
  const run = await runTeam(task, { roles: { default: model }, tools: [code] });
  teamRunSchema.parse(run);
  return { run, requests };
}

describe("the small team", () => {
  it("is what a small model plays: calls written as text, results shown, a marked answer", async () => {
    const { run, requests } = await play([plan, right, "Answer: 31", agrees]);
    assert.equal(run.answer, "31");
    assert.deepEqual(moves(run), ["plan", "act", "answer", "verify"]);
    assert.deepEqual(run.ending, { reason: "answered", verified: true });
    assert.ok(requests.every(({ tools }) => tools === undefined));
    const shown = requests[2]!.messages.slice(-2);
    assert.doesNotMatch(shown[0]!.content, /29/); // an output that the model made up is not kept
    assert.match(shown[1]!.content, /^Output:\n31\n/);
  });

  it("makes a chain of the code profile", async () => {
    const { run } = await play([plan, right, "Answer: 31", agrees]);
    const { trajectory } = distillRun(run, { profile: codeProfile });
    assert.equal(trajectory?.answer, "31");
    assert.ok(trajectory?.segments.some(({ tag }) => tag === "code"));
  });

  it("has a verifier that solves the question itself, without seeing the program", async () => {
    const { run, requests } = await play([plan, right, "Answer: 31", agrees]);
    assert.deepEqual(run.scores, [4]);
    assert.doesNotMatch(JSON.stringify(requests[3]!.messages), /print|Answer: 31/);
  });

  it("lets the workers try again with the plan where the verifier differs, until two answers agree", async () => {
    const { run, requests } = await play([plan, wrong, "Answer: 41", agrees, right, "Answer: 31"]);
    assert.equal(run.answer, "31");
    assert.deepEqual([run.scores, run.replans, run.ending.verified], [[1], 1, true]);
    assert.match(requests[4]!.messages.at(-1)!.content, /5 break/);
    assert.doesNotMatch(JSON.stringify(requests[4]!.messages), /41/); // the second try begins anew
    assert.doesNotMatch(JSON.stringify(requests[1]!.messages), /5 break/);
    const other = "```python\nprint(7)\n```";
    const never = await play([plan, wrong, "Answer: 41", agrees, other, "Answer: 7"]);
    assert.deepEqual([never.run.answer, never.run.ending.verified], ["41", false]);
  });

  it("does not take an answer out of nothing, a plan or a half sentence for the answer", async () => {
    const { run } = await play([plan, "Answer: 30", right, "The program printed it.", "**Answer:** 31", agrees]);
    assert.equal(run.answer, "31");
    assert.equal(run.usage.toolCalls, 1);
    const lost = await play([plan, "4. Verify the result with the reflector."]);
    assert.equal(lost.run.answer, null);
    assert.equal(lost.run.ending.reason, "limit");
  });

  it("is streamed, so that a slow server's reply does not look stalled", async () => {
    const { requests } = await play([plan, right, "Answer: 31", agrees]);
    assert.ok(requests.every(({ onDelta }) => onDelta));
  });

  it("is not what a large model plays", async () => {
    const { requests } = await play([plan, "31", scored], "qwen3-32b");
    assert.ok(requests[0]!.tools);
    assert.equal(requests[0]!.onDelta, undefined);
  });
});

describe("a manager that a model plays", () => {
  it("is understood where it writes calls as text, and a line of its plan is no answer", async () => {
    const call = '```json\n{"name": "code_agent", "arguments": {"task": "compute 3 * 12 - 5"}}\n```';
    const program = '<tool_call>\n{"name": "code", "arguments": {"code": "print(3 * 12 - 5)"}}\n</tool_call>';
    const replies = [plan, "4. Verify the result with the reflector.", call, program, "It printed 31.", "31", scored];
    const { run } = await play(replies, "qwen3-32b");
    assert.equal(run.answer, "31");
    assert.deepEqual(moves(run), ["plan", undefined, "act", "act", "report", "answer", "verify"]);
  });
});
