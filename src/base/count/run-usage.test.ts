import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callCost, usageOfCall } from "../../core/usage.ts";
import { type CountedCall, runUsage } from "./run-usage.ts";
import { estimateTokens } from "./token-estimate.ts";

const system = { role: "system" as const, content: "s".repeat(16) }; // 4 + 4 tokens
const user = { role: "user" as const, content: "u".repeat(16) };

function call(more: Partial<CountedCall>): CountedCall {
  return {
    messages: [system, user],
    tools: [],
    text: "",
    toolCalls: [],
    promptTokens: 16,
    completionTokens: 1,
    ...more,
  };
}

describe("runUsage", () => {
  it("charges a prompt once, and a reply that the history repeats not again, whatever name it bears", () => {
    const reply = { role: "assistant" as const, content: "r".repeat(16), name: "manager" };
    const usage = runUsage([
      call({ text: reply.content, completionTokens: 4 }),
      call({ messages: [system, user, reply, user], promptTokens: 32 }),
    ]);
    assert.equal(usage.billedTokens, 16 + 4 + 32 + 1);
    assert.equal(usage.computedTokens, 16 + 4 + 8 + 1);
  });

  it("shares nothing between prompts with other tools", () => {
    const usage = runUsage([call({}), call({ tools: [{ name: "code" }] })]);
    assert.equal(usage.computedTokens, usage.billedTokens);
  });

  it("counts in the order calls started, leaves delegations out of the tools and sums their time", () => {
    const tools = [
      { id: "a", name: "search", arguments: "{}", startedAt: 10, endedAt: 15 },
      { id: "b", name: "worker", arguments: "{}", delegatesTo: "agent-2", startedAt: 10, endedAt: 90 },
    ];
    const calls = [call({ startedAt: 100, endedAt: 130 }), call({ startedAt: 0, endedAt: 9, toolCalls: tools })];
    const usage = runUsage(calls);
    assert.deepEqual([usage.toolCalls, usage.toolMs, usage.wallMs], [1, 5, 130]);
    assert.equal(usage.computedTokens, runUsage(calls.toReversed()).computedTokens);
  });
});

describe("one call", () => {
  it("keeps cached and reasoning tokens and has its price", () => {
    const used = { promptTokens: 1_000_000, completionTokens: 10, cachedTokens: 400_000, reasoningTokens: 7 };
    const usage = usageOfCall(used, { input: 1, output: 0, cachedInput: 0.5 });
    assert.deepEqual([usage.cachedTokens, usage.reasoningTokens, usage.modelCalls], [400_000, 7, 1]);
    assert.equal(usage.costUsd, 0.6 + 0.2);
    assert.equal(callCost(used, undefined), 0);
  });
});

describe("estimateTokens", () => {
  it("counts 130 Chinese characters as 130 tokens and 130 Latin letters as 33", () => {
    assert.equal(estimateTokens("中".repeat(130)), 130);
    assert.equal(estimateTokens("a".repeat(130)), 33);
  });
});
