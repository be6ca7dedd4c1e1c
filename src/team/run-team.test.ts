import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { requestTokens } from "../base/count/token-estimate.ts";
import { messageHash } from "../core/fingerprint.ts";
import type { ChatRequest } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import { type TeamRun, teamRunSchema } from "../core/team-run.ts";
import { defineTool } from "../core/tool.ts";
import type { RoleFunction, RoleReply } from "./role.ts";
import { runTeam, type TeamOptions } from "./run-team.ts";

const task = defineTask({ id: "t1", question: "How high is Mount Zed?", answers: ["812"] });

const search = defineTool({
  name: "web_search",
  description: "Search.",
  input: z.object({ query: z.string() }),
  run: ({ query }) => {
    if (query === "boom") throw new Error("the index is on fire");
    return `1. [Mount Zed](http://w/1) about ${query}`;
  },
});

/** Replies in order; a function may look at the request. */
function inOrder(...replies: (RoleReply | RoleFunction)[]): RoleFunction {
  let at = 0;
  return (request) => {
    const reply = replies[Math.min(at++, replies.length - 1)]!;
    return typeof reply === "function" ? reply(request) : reply;
  };
}

const delegateTo = (member: string, text = "look it up") => ({ toolCalls: [{ name: member, input: { task: text } }] });
const searcher: RoleFunction = ({ messages }) =>
  messages.at(-1)?.name === "web_search"
    ? `found: ${messages.at(-1)!.content}`
    : { toolCalls: [{ name: "web_search", input: { query: "Zed" } }] };
const content: RoleFunction = () => "Supported.\nThe score this time is:4";
const reviewer: RoleFunction = () =>
  "Seen.\ninformation_conflict : Good\ntool_effectiveness : Good\ntrajectory_monitoring : Good";

function play(manager: RoleFunction, options: Partial<TeamOptions> = {}): Promise<TeamRun> {
  const { roles, ...rest } = options;
  return runTeam(task, {
    roles: { manager, search: searcher, verifier: content, reflector: reviewer, ...roles },
    tools: [search],
    ...rest,
  });
}

const moves = (run: TeamRun) => run.steps.map((step) => step.move);

for (const topology of ["agents-as-tools", "handoff"] as const) {
  const call = topology === "handoff" ? "transfer_to_search_agent" : "search_agent";
  const reflect = topology === "handoff" ? "transfer_to_reflector" : "reflector";
  describe(`runTeam, ${topology}`, () => {
    it("plans, delegates, proposes, verifies, and records who called whom", async () => {
      const run = await play(inOrder("1. search", delegateTo(call), "812"), { topology });
      teamRunSchema.parse(run);
      assert.equal(run.answer, "812");
      assert.deepEqual(moves(run), ["plan", "act", "act", "report", "answer", "verify"]);
      assert.equal(run.ending.verified, true);
      const [manager, worker] = run.agents;
      const delegation = run.steps[1]!.toolCalls[0]!;
      assert.equal(delegation.delegatesTo, worker!.id);
      assert.equal(
        topology === "handoff" ? worker!.handoffFrom : worker!.parentCallId,
        topology === "handoff" ? manager!.id : delegation.id,
      );
      assert.match(delegation.result!, /^found: 1\. \[Mount Zed\]/);
      assert.equal(run.usage.toolCalls, 1);
    });

    it("holds every message, once, by its hash", async () => {
      const run = await play(inOrder("1. search", delegateTo(call), "812"), { topology });
      for (const step of run.steps) for (const key of step.input) assert.ok(run.messages[key], key);
      for (const [key, message] of Object.entries(run.messages)) assert.equal(messageHash(message), key);
      const last = run.steps
        .at(-1)!
        .input.map((key) => run.messages[key]!.content)
        .join("\n");
      assert.match(last, /about Zed/);
    });

    it("counts as billed exactly what the calls add up to, and computes no prefix twice", async () => {
      const requests: ChatRequest[] = [];
      const spy =
        (player: RoleFunction): RoleFunction =>
        (request) => {
          requests.push(request);
          return player(request);
        };
      const run = await runTeam(task, {
        roles: {
          manager: spy(inOrder("1. search", delegateTo(call), "812")),
          search: spy(searcher),
          verifier: spy(content),
          reflector: reviewer,
        },
        tools: [search],
        topology,
      });
      assert.equal(
        run.usage.promptTokens,
        requests.map((one) => requestTokens(one)).reduce((a, b) => a + b),
      );
      assert.equal(
        run.usage.billedTokens,
        run.steps.reduce((sum, step) => sum + step.promptTokens + step.completionTokens, 0),
      );
      assert.equal(run.usage.computedTokens, naiveComputed(requests, run));
      assert.ok(run.usage.computedTokens < run.usage.billedTokens);
    });

    it("makes a new plan when something is rated Poor, when a member fails and when the score is low", async () => {
      const poor = "Bad.\ninformation_conflict : Good\ntool_effectiveness : Poor\ntrajectory_monitoring : Good";
      const manager = inOrder("1. search", delegateTo(reflect, "stuck"), "1. again", "811", "1. once more", "812");
      const roles = { manager, reflector: () => poor, verifier: inOrder("Wrong.\nThe score this time is:2", content) };
      const run = await play(manager, { topology, roles });
      assert.deepEqual(moves(run), ["plan", "act", "review", "plan", "answer", "verify", "plan", "answer", "verify"]);
      assert.deepEqual([run.ending, run.replans, run.scores], [{ reason: "answered", verified: true }, 2, [2, 4]]);
      const failing: RoleFunction = () => {
        throw new Error("model is down");
      };
      const failed = await play(inOrder("1. search", delegateTo(call), "1. without", "812"), {
        topology,
        roles: { search: failing },
      });
      assert.equal(failed.answer, "812");
      assert.match(failed.steps[2]!.error!, /model is down/);
      assert.match(failed.steps[1]!.toolCalls[0]!.error!, /model is down/);
      assert.equal(failed.replans, 1);
    });

    it("answers broken calls and empty replies instead of giving up", async () => {
      const manager = inOrder(
        "1. search",
        { toolCalls: [{ name: "nobody", input: { task: "x" } }] },
        { toolCalls: [{ name: call, input: "{not json" }] },
        { toolCalls: [{ name: call, input: {} }] },
        "",
        delegateTo(call),
        "812",
      );
      const worker = inOrder(
        "",
        { toolCalls: [{ name: "web_search", input: { wrong: 1 } }] },
        { toolCalls: [{ name: "web_search", input: { query: "boom" } }] },
        "nothing found",
      );
      const run = await play(manager, { topology, roles: { search: worker } });
      teamRunSchema.parse(run);
      assert.equal(run.answer, "812");
      const errors = run.steps.flatMap((step) => step.toolCalls.flatMap((one) => one.error ?? []));
      assert.match(errors[0]!, /there is no agent "nobody"; you can call search_agent, reflector/);
      assert.match(errors[1]!, /not JSON/);
      assert.match(errors[2]!, /needs a "task"/);
      assert.match(errors[3]!, /web_search can't take/);
      assert.match(errors[4]!, /the index is on fire/);
    });

    it("asks a judge again whose reply has no form, and takes no score for a low one", async () => {
      const run = await play(inOrder("1. x", "812", "1. y", "812"), {
        topology,
        roles: { verifier: inOrder("looks fine", "really fine", "The score this time is:3") },
      });
      assert.deepEqual(moves(run), ["plan", "answer", "verify", "verify", "plan", "answer", "verify"]);
      assert.deepEqual(run.scores, [null, 3]);
    });

    it("ends at its limits with the last proposal and the reason", async () => {
      const never: RoleFunction = () => "The score this time is:1";
      const worn = await play(inOrder("1. x", "811"), { topology, roles: { verifier: never }, limits: { replans: 1 } });
      assert.equal(worn.answer, "811");
      assert.equal(worn.ending.verified, false);
      const circling = await play(inOrder("1. x", delegateTo(call)), { topology, limits: { managerSteps: 5 } });
      assert.equal(circling.answer, null);
      assert.match(circling.ending.detail!, /within 5 steps/);
      const silent = await play(inOrder("1. x", delegateTo(call), "1. y", "812"), {
        topology,
        roles: { search: inOrder({ toolCalls: [{ name: "web_search", input: { query: "a" } }] }) },
        limits: { agentSteps: 3 },
      });
      assert.equal(silent.answer, "812");
      assert.match(silent.steps[1]!.toolCalls[0]!.error!, /no report within 3 steps/);
    });
  });
}

/** Tokens that a perfect prefix cache must process, by comparing every prompt with all earlier ones, message by message. */
function naiveComputed(requests: readonly ChatRequest[], run: TeamRun): number {
  const seen: string[][] = [];
  let tokens = 0;
  requests.forEach((request, index) => {
    const parts = [JSON.stringify(request.tools ?? []), ...request.messages.map((message) => JSON.stringify(message))];
    const common = Math.max(
      0,
      ...seen
        .map((other) => parts.findIndex((part, at) => part !== other[at]))
        .map((at) => (at < 0 ? parts.length : at)),
    );
    const known =
      common === 0 ? 0 : requestTokens({ messages: request.messages.slice(0, common - 1), tools: request.tools });
    const step = run.steps[index]!;
    tokens += step.promptTokens - known + step.completionTokens;
    const reply = {
      role: "assistant",
      content: step.text,
      name: run.agents.find((one) => one.id === step.agentId)!.name,
    };
    const calls = step.toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    seen.push([...parts, JSON.stringify(calls.length > 0 ? { ...reply, toolCalls: calls } : reply)]);
  });
  return tokens;
}

describe("runTeam", () => {
  it("runs sub-tasks of one reply in parallel, each in a context of its own", async () => {
    let together = 0;
    let most = 0;
    const slow: RoleFunction = async ({ messages }) => {
      most = Math.max(most, ++together);
      await new Promise((resolve) => setImmediate(resolve));
      together--;
      return `report on ${messages.at(-1)!.content}`;
    };
    const two = { toolCalls: ["a", "b", "c"].map((text) => ({ name: "search_agent", input: { task: text } })) };
    const run = await play(inOrder("1. all", two, "812"), { roles: { search: slow } });
    assert.equal(most, 3);
    assert.deepEqual(
      run.steps[1]!.toolCalls.map((one) => one.result),
      ["report on a", "report on b", "report on c"],
    );
  });

  it("never exceeds a budget, and ends with what it has", async () => {
    for (let modelCalls = 0; modelCalls <= 6; modelCalls++) {
      const run = await play(inOrder("1. search", delegateTo("search_agent"), "812"), { budget: { modelCalls } });
      assert.equal(run.usage.modelCalls, modelCalls);
      assert.equal(run.answer, modelCalls < 5 ? null : "812");
      if (modelCalls < 6) assert.match(run.ending.detail!, /the budget is spent: modelCalls may not exceed/);
    }
    const noTools = await play(inOrder("1. search", delegateTo("search_agent"), "812"), { budget: { toolCalls: 0 } });
    assert.equal(noTools.usage.toolCalls, 0);
    const whole = (await play(inOrder("1. search", delegateTo("search_agent"), "812"))).usage.billedTokens;
    for (let tokens = 0; tokens < whole; tokens += 7) {
      const run = await play(inOrder("1. search", delegateTo("search_agent"), "812"), { budget: { tokens } });
      assert.ok(run.usage.billedTokens <= tokens, `${run.usage.billedTokens} of ${tokens}`);
    }
    let clock = 0;
    const late = await play(inOrder("1. search", delegateTo("search_agent"), "812"), {
      budget: { wallMs: 30 },
      now: () => (clock += 10),
    });
    assert.match(late.ending.detail!, /wallMs/);
  });

  it("keeps its history within bounds on a long run, and never parts a call from its result", async () => {
    const page = "x".repeat(3_000);
    const seen: ChatRequest[] = [];
    let count = 0;
    const manager: RoleFunction = (request) => {
      seen.push(request);
      if (count++ === 0) return "1. search and search";
      return count > 12 ? "812" : delegateTo("search_agent", `step ${count}`);
    };
    const roles = { search: () => page };
    const run = await play(manager, { roles, limits: { historyCharacters: 10_000 } });
    assert.equal(run.answer, "812");
    for (const { messages } of seen) {
      assert.ok(messages.reduce((sum, message) => sum + message.content.length, 0) < 20_000);
      assert.match(messages[1]!.content, /^Question: How high is Mount Zed\?/);
      messages.forEach((message, index) => {
        const before = messages.slice(0, index).flatMap((one) => one.toolCalls?.map((call) => call.id) ?? []);
        if (message.role === "tool") assert.ok(before.includes(message.toolCallId!));
      });
    }
    assert.match(seen.at(-1)!.messages[1]!.content, /What was done so far:/);
  });

  it("holds its budget when members work in parallel, and nothing continues after the end", async () => {
    let calls = 0;
    const slow: RoleFunction = async ({ messages }) => {
      calls++;
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      return messages.at(-1)?.name === "web_search"
        ? "found"
        : { toolCalls: [{ name: "web_search", input: { query: "Zed" } }] };
    };
    const five = {
      toolCalls: Array.from({ length: 5 }, (_, at) => ({ name: "search_agent", input: { task: `part ${at}` } })),
    };
    for (const [budget, most] of [
      [{ modelCalls: 4 }, 2],
      [{ tokens: 4_000 }, 10],
      [{ toolCalls: 3 }, 10],
    ] as const) {
      calls = 0;
      const run = await play(inOrder("1. all", five, "812"), {
        roles: { search: slow },
        budget,
        limits: { maxTokens: 500 },
      });
      const steps = run.steps.length;
      assert.match(run.ending.detail!, /the budget is spent/);
      assert.ok(calls <= most, `${calls} calls with ${JSON.stringify(budget)}`);
      assert.ok(run.usage.modelCalls <= ((budget as { modelCalls?: number }).modelCalls ?? 99));
      assert.ok(run.usage.billedTokens <= ((budget as { tokens?: number }).tokens ?? 1e9));
      assert.ok(run.usage.toolCalls <= ((budget as { toolCalls?: number }).toolCalls ?? 99));
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(run.steps.length, steps);
    }
  });

  it("charges what prices say", async () => {
    const manager = inOrder("1. x", "812");
    Object.defineProperty(manager, "name", { value: "m" });
    const run = await play(manager, { prices: { m: { input: 10, output: 100 } } });
    const own = run.steps.filter((step) => step.model === "m");
    const cost = own.reduce((sum, step) => sum + step.promptTokens * 10 + step.completionTokens * 100, 0) / 1e6;
    assert.ok(Math.abs(run.usage.costUsd - cost) < 1e-12 && cost > 0);
  });

  it("says which role has no player, and stops when the caller does", async () => {
    await assert.rejects(
      runTeam(task, { roles: { manager: () => "x" }, tools: [search] }),
      /no model or function for the role "search"/,
    );
    const aborted = AbortSignal.abort();
    await assert.rejects(play(inOrder("1. x"), { signal: aborted }), { name: "AbortError" });
  });
});
