/** What a request leaves in a server's memory: nothing, whatever it asks for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Model } from "../src/core/model.ts";
import { withServer } from "./fixtures/serve-server.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** More than noise, less than a chain of two turns. */
const mostKb = 3;
const requests = 150;

/** The test double that keeps requests would be the leak. */
const model: Model = {
  name: "forgetful",
  capabilities: { tokens: false, grammar: "none" },
  async *continue({ text }) {
    const known = text.includes("Ada lives in Lyon.");
    yield { type: "delta", text: known ? "<think>so</think><answer>Lyon</answer>" : "<wiki_search>Ada</wiki_search>" };
    yield { type: "end", finish: "stop", usage: { promptTokens: 100, completionTokens: 10 } };
  },
};

const messages = [{ role: "user", content: "Where does Ada live?" }];
const input = "Where does Ada live?";
const tools = [{ type: "function", function: { name: "ask_user", parameters: { type: "object" } } }];
const kinds: Record<string, [path: string, body: object, leaveAfterMs?: number]> = {
  "chat completions": ["/v1/chat/completions", { messages }],
  "streamed chat completions": ["/v1/chat/completions", { messages, stream: true }],
  "streams given up": ["/v1/chat/completions", { messages, stream: true }, 4],
  "requests with tools of the client": ["/v1/chat/completions", { messages, tools }],
  messages: ["/v1/messages", { messages, max_tokens: 1000, stream: true }],
  completions: ["/v1/completions", { prompt: input }],
  "UI messages": ["/api/chat", { messages: [{ role: "user", parts: [{ type: "text", text: input }] }] }],
  "stored responses": ["/v1/responses", { input, stream: true }],
  "background responses": ["/v1/responses", { input, background: true }],
  refusals: ["/v1/chat/completions", { messages: [] }],
};

describe("a server's memory", () => {
  for (const [name, [path, body, leaveAfterMs]] of Object.entries(kinds)) {
    it(`holds nothing of ${name} that have ended`, async (t) => {
      await withServer({ model }, async (ask, origin) => {
        let sent = 0;
        const one = async () => {
          // Each client is another one: a page has a chat of its own, a repeated request a key of its own.
          const headers = { "idempotency-key": `key-${++sent}` };
          if (leaveAfterMs === undefined) return void (await (await ask(path, body, headers)).text());
          const signal = AbortSignal.timeout(leaveAfterMs);
          await fetch(origin + path, { method: "POST", body: JSON.stringify(body), signal })
            .then((reply) => reply.text())
            .catch(() => {});
        };
        const held = async () => {
          await new Promise((resolve) => setTimeout(resolve, 300)); // sockets close, responses end
          // What is collected leaves the test runner's own table of asynchronous work a turn later: 3 to 6 kB for each request.
          for (let round = 0; round < 3; round++) {
            collect();
            await new Promise((resolve) => setImmediate(resolve));
          }
          return process.memoryUsage().heapUsed / 1024;
        };
        const grown: number[] = [];
        for (let round = 0; round < 4; round++) {
          const before = await held();
          for (let at = 0; at < requests; at += 20) await Promise.all(Array.from({ length: 20 }, one));
          grown.push(((await held()) - before) / requests);
        }
        t.diagnostic(`kB left by a request: ${grown.map((kb) => kb.toFixed(2)).join(", ")}`);
        assert.ok(Math.min(...grown) < mostKb, `${grown.map((kb) => kb.toFixed(1)).join(", ")} kB by each`);
      });
    });
  }
});
