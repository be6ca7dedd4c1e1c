import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openaiChat } from "../base/wire/openai-chat.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import type { Json } from "../core/json-value.ts";
import { createBudget } from "./budget.ts";

const messages = [{ role: "user", content: "Q" }];
const request = (body: Json, api = openaiChat) => ({ api, path: "/v1/x", body: { messages, ...body }, bytes: 30 });

describe("what a call sets aside", () => {
  it("is as much for each of several replies", () => {
    const budget = createBudget({ total: { tokens: 410 } });
    const held = budget.admitNow(request({ n: 4, max_tokens: 100 }));
    assert.ok("settle" in held);
    assert.ok("refused" in budget.admitNow(request({ max_tokens: 5 })), "the rest is set aside");
    held.settle({ text: "", toolCalls: [], usage: { promptTokens: 10, completionTokens: 380 } });
    assert.equal(budget.spent().tokens, 390);
    const capped = createBudget({ total: { tokens: 50 } }).admitNow(request({ n: 4, max_tokens: 100 }));
    assert.ok("body" in capped);
    assert.equal(capped.body["max_tokens"], 10, "four replies share what is left after the prompt");
  });

  it("is estimated from all replies where the server tells no usage", () => {
    const budget = createBudget({ total: { tokens: 9000 } });
    const spent = (others: number) => {
      const before = budget.spent().tokens;
      const held = budget.admitNow(request({ n: others + 1, max_tokens: 100 }));
      assert.ok("settle" in held);
      const said = { text: "one two three four five", toolCalls: [] };
      held.settle({ ...said, others: Array.from({ length: others }, () => said) });
      return budget.spent().tokens - before - 10;
    };
    assert.equal(spent(3), 4 * spent(0));
  });

  it("is charged whole where the server continues in the background", () => {
    const budget = createBudget({ total: { tokens: 1000 } });
    const held = budget.admitNow(request({ input: "Q", max_output_tokens: 100 }, openaiResponses));
    assert.ok("settle" in held);
    held.settle(openaiResponses.readReply({ id: "r", status: "queued", background: true, output: [] }));
    assert.equal(budget.spent().tokens, 110);
  });
});
