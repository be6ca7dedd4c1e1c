/** A server that stops: balancers see it first, what runs is waited for, what can't end is told so, and nothing is cut off unsaid. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { adaHandler } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { scriptedModel } from "../testing/index.ts";
import { serve } from "./serve.ts";
import { openServeStore } from "./store/open-store.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const messages = [{ role: "user", content: "Where does Ada live?" }];
const parts = [{ type: "text", text: "Where does Ada live?" }];

/** A model that writes a thought and then nothing until `go`. */
function slowModel() {
  const go = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const model = {
    ...scriptedModel([]),
    async *continue({ signal }: Loose) {
      calls++;
      yield { type: "delta" as const, text: "<think>a thought" };
      begun.resolve();
      const left = new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      await Promise.race([go.promise, left]);
      yield { type: "delta" as const, text: "</think><plan>remember</plan><think>so</think><answer>Lyon</answer>" };
      yield { type: "end" as const, finish: "stop" as const, usage: { promptTokens: 1, completionTokens: 1 } };
    },
  };
  return { model, go: () => go.resolve(), begun: begun.promise, calls: () => calls };
}

const post = (origin: string, path: string, body: object) =>
  fetch(origin + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

const streams: Record<string, [path: string, body: object, last: RegExp]> = {
  chat: ["/v1/chat/completions", { messages, stream: true }, /"code":"server_stopping"/],
  responses: ["/v1/responses", { input: "Where does Ada live?", stream: true }, /event: response\.failed[\s\S]*server_stopping/],
  messages: ["/v1/messages", { messages, max_tokens: 1000, stream: true, thinking: { type: "enabled" } }, /event: error\ndata: .*the server is stopping/],
  page: ["/api/chat", { messages: [{ role: "user", parts }] }, /\{"type":"abort"\}\n\ndata: \[DONE\]/],
  chains: ["/v1/chains", { question: "Where does Ada live?", stream: true }, /event: error\ndata: .*server_stopping/],
}; // biome-ignore format: one stream a line

describe("a server that stops", () => {
  it("says that it is not ready while it still takes requests, then takes none, and waits for what runs", async () => {
    const { model, go, begun } = slowModel();
    const server = await serve(await adaHandler({ model }), {});
    const status = async (path: string) => (await fetch(server.origin + path)).status;
    assert.equal(await status("/ready"), 200);
    const open = post(server.origin, "/v1/chat/completions", { messages });
    await begun;
    const stopped = server.stop(60_000, 1500);
    while ((await status("/ready")) !== 503);
    const late = post(server.origin, "/v1/chat/completions", { messages }); // from a balancer that has not looked yet
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(await status("/health"), 200);
    go();
    for (const reply of [await open, await late]) {
      assert.equal(reply.status, 200);
      assert.equal(((await reply.json()) as Loose).choices[0].message.content, "Lyon");
    }
    await stopped;
    await assert.rejects(fetch(`${server.origin}/ready`));
  });

  it("does not wait for balancers where no one probes whether it is ready", async () => {
    const server = await serve(await adaHandler({}), {});
    await server.stop(1000, 24 * 3_600_000);
  });

  for (const [name, [path, body, last]] of Object.entries(streams))
    it(`ends a stream with its closing event when the time is over: ${name}`, async () => {
      const { model, begun } = slowModel();
      const server = await serve(await adaHandler({ model }), {});
      const reply = await post(server.origin, path, body);
      await begun;
      const [text] = await Promise.all([reply.text(), server.stop(50)]);
      assert.match(text, /a thought/);
      assert.match(text, last);
    });

  it("answers a call over MCP with an error when the time is over", async () => {
    const { model, begun } = slowModel();
    const server = await serve(await adaHandler({ model }), {});
    const params = { name: "ask_chain", arguments: { question: "Where does Ada live?" } };
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
    const asked = fetch(`${server.origin}/mcp`, { method: "POST", headers, body });
    await begun;
    const [reply] = await Promise.all([asked, server.stop(50)]);
    const { id, error } = JSON.parse(eventsOf(await reply.text()).at(-1)!);
    assert.deepEqual([id, error.message], [7, "the server is stopping"]);
  });

  it("answers a request that is not streamed with 503", async () => {
    const { model, begun } = slowModel();
    const server = await serve(await adaHandler({ model }), {});
    const asked = post(server.origin, "/v1/chat/completions", { messages });
    await begun;
    const [reply] = await Promise.all([asked, server.stop(50)]);
    assert.deepEqual([reply.status, reply.headers.get("retry-after")], [503, "5"]);
  });

  it("waits for the chain of a page that has left, and leaves what runs in the background to the next server", async () => {
    const store = await openServeStore();
    const page = slowModel();
    let ended = 0;
    const onTrajectory = () => void ended++;
    const first = await serve(await adaHandler({ model: page.model, onTrajectory }), {});
    const reader = (await post(first.origin, "/api/chat", { messages: [{ role: "user", parts }] })).body!.getReader();
    await page.begun;
    await reader.cancel();
    const stopped = first.stop(60_000);
    page.go();
    await stopped;
    assert.equal(ended, 1);
    const run = slowModel();
    const second = await serve(await adaHandler({ model: run.model, store }), {});
    const { id }: Loose = await (
      await post(second.origin, "/v1/responses", { input: "Ada?", background: true })
    ).json();
    await run.begun;
    await second.stop(20);
    assert.equal((await store.responses.find(id, "anyone"))?.response["status"], "in_progress");
    run.go();
    const third = await serve(await adaHandler({ model: run.model, store }), {});
    const read = async (): Promise<Loose> => (await fetch(`${third.origin}/v1/responses/${id}`)).json();
    while ((await read()).status !== "completed") await new Promise((resolve) => setTimeout(resolve, 100));
    await third.stop(1000);
    assert.equal(run.calls(), 2, "begun again, once");
    await store.close();
  });
});
