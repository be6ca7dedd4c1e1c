import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { most } from "../core/budget.ts";
import { readRollouts } from "./rollout-handler.ts";

const messages = [{ role: "user", content: "Where does Ada live?" }];
const tools = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    type: "function",
    function: { name: `tool_${index}`, parameters: {} },
  }));

describe("what one request may ask for", () => {
  it("takes as many function tools as the budget has, and refuses more before anything is made of them", async () => {
    await withServer({}, async (ask) => {
      const refused = await ask("/v1/chat/completions", { messages, tools: tools(20_000) });
      assert.equal(refused.status, 400);
      assert.match(await refused.text(), new RegExp(`20000 function tools: at most ${most.tools} are taken`));
      assert.equal((await ask("/v1/chat/completions", { messages, tools: tools(most.tools) })).status, 200);
    });
  });

  it("counts rollouts before it makes one", () => {
    const items = Array.from({ length: 20_000 }, () => ({ question: "?", n: 4096 }));
    const body = { baseURL: "http://127.0.0.1:1/v1", items };
    assert.throws(() => readRollouts(body, 4160), { status: 429, message: /^81920000 more rollouts do not fit/ });
    assert.equal(readRollouts({ ...body, items: items.slice(0, 1) }, 4160).jobs.length, 4096);
  });

  it("refuses a body of a million lists before it is parsed", async () => {
    await withServer({}, async (ask) => {
      const refused = await ask("/v1/chat/completions", { messages, more: Array(1_000_001).fill([]) });
      assert.equal(refused.status, 400);
      assert.match(await refused.text(), /has more than 1000000 lists and objects/);
    });
  });
});
