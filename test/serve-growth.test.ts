/** What a request holds many of costs time in proportion, whatever it is: turns, calls in a turn, items, keys. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { keyFinder } from "../src/base/http/access.ts";
import { readRollouts } from "../src/serve/rollout-handler.ts";
import { grows } from "./fixtures/grows.ts";
import { withServer } from "./fixtures/serve-server.ts";

it("grows with turns, items and keys, and no faster", async () => {
  await withServer({}, async (ask) => {
    const turns = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: `turn ${at}` }));
    const question = { role: "user", content: "Where does Ada live?" };
    const chat = (count: number) =>
      ask("/v1/chat/completions", { messages: [...turns(count), question] }).then((one) => one.text());
    await grows("turns", chat, 1000);
    const calls = (count: number, name: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => ({ id: `c${at}`, type: "function", function: { name: name(at), arguments: "{}" } })); // biome-ignore format: one list
    const results = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ role: "tool", tool_call_id: `c${at}`, content: "x" }));
    const called = (count: number, name: (at: number) => string) =>
      ask("/v1/chat/completions", { messages: [question, { role: "assistant", content: null, tool_calls: calls(count, name) }, ...results(count), question] }); // biome-ignore format: one request
    await grows("calls in a turn", async (count) => (await called(count, () => "look")).text(), 500);
    const refused = await called(20_000, (at) => `tool_${at}`);
    assert.match(await refused.text(), /20000 tools are called in this conversation: at most 512 are taken/);
    assert.equal(refused.status, 400);
  });
  const items = (length: number) => Array.from({ length }, () => ({ question: "?" }));
  await grows("items", (count) => readRollouts({ baseURL: "http://127.0.0.1:1/v1", items: items(count) }, 1e6), 1000);
  await grows(
    "keys",
    (count) => keyFinder(Array.from({ length: count }, (_, at) => ({ key: `key-${at}` })))("key-7"),
    5000,
  );
});
