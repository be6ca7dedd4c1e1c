/** What a request holds many of costs time in proportion: four times as many turns, items or keys, at most sixteen times the time. */
import { it } from "node:test";
import { keyFinder } from "../src/base/http/access.ts";
import { readRollouts } from "../src/serve/rollout-request.ts";
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
  });
  const items = (length: number) => Array.from({ length }, () => ({ question: "?" }));
  await grows("items", (count) => readRollouts({ baseURL: "http://127.0.0.1:1/v1", items: items(count) }, 1e6), 5000);
  await grows(
    "keys",
    (count) => keyFinder(Array.from({ length: count }, (_, at) => ({ key: `key-${at}` })))("key-7"),
    5000,
  );
});
