/** What an outsider may send: values of the wrong kind are refused by name, methods and routes as HTTP and each API have it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const messages = [{ role: "user", content: "Where does Ada live?" }];
const plain: Record<string, Loose> = {
  "/v1/chat/completions": { messages },
  "/v1/responses": { input: "Where does Ada live?" },
  "/v1/messages": { max_tokens: 600, messages },
};
const everywhere = [
  { temperature: -1 },
  { temperature: "hot" },
  { temperature: 3 },
  { top_p: 2 },
  { stream: "yes" },
  { model: 5 },
  { tools: "x" },
  { tool_choice: 5 },
  { tool_choice: "required" },
  { store: "no" },
];
const own: Record<string, Loose[]> = {
  "/v1/chat/completions": [
    ...[0, -1, 2, "2"].map((n) => ({ n })),
    ...[0, -1, 1.5, "10"].map((max_tokens) => ({ max_tokens })),
    { max_completion_tokens: 0 },
    { stop: 5 },
    { stop: [""] },
    { messages: "hi" },
    { messages: [] },
    { messages: [5] },
    { response_format: "json" },
    { seed: "x" },
    { tools: [{ type: "function" }] },
    { tools: [{ type: "function", function: { name: "a b<c>" } }] },
  ],
  "/v1/responses": [
    { max_output_tokens: 0 },
    { input: 5 },
    { input: [] },
    { input: [{ type: "compaction", encrypted_content: "x" }, ...messages] },
    { previous_response_id: 5 },
    { conversation: "conv_1" },
    { prompt: { id: "pmpt_1" } },
    { tools: [{ type: "function" }] },
    { include: "all" },
    { background: 1 },
  ],
  "/v1/messages": [
    { max_tokens: 0 },
    { temperature: 1.5 },
    { stop_sequences: "x" },
    { system: 5 },
    { messages: [] },
    { tools: [{ input_schema: {} }] },
    { tool_choice: { type: "any" } },
  ],
};

describe("fields of requests", () => {
  for (const [path, body] of Object.entries(plain)) {
    it(`of the wrong kind are refused by name at ${path}`, async () => {
      await withServer({}, async (ask) => {
        for (const wrong of [...everywhere, ...own[path]!]) {
          const reply = await ask(path, { ...body, ...wrong });
          const said: Loose = await reply.json();
          assert.equal(reply.status, 400, `${JSON.stringify(wrong)} ${JSON.stringify(said)}`);
          const [field] = Object.keys(wrong);
          const named = path === "/v1/messages" ? said.error.message : said.error.param;
          assert.match(named, new RegExp(field!), JSON.stringify(said));
        }
        const nothing = { temperature: null, top_p: null, tools: null, stream: null, tool_choice: null, stop: null };
        assert.equal((await ask(path, { ...body, ...nothing })).status, 200, "null is no value");
        assert.equal((await ask(path, { ...body, x: "y".repeat(9) }, { "content-type": "text/plain" })).status, 200);
      });
    });
  }

  it("are refused where the body is not UTF-8, or nested beyond sense", async () => {
    await withServer({}, async (ask, origin) => {
      const bytes = Buffer.concat([Buffer.from('{"input":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
      const sent = await fetch(`${origin}/v1/responses`, { method: "POST", body: bytes });
      assert.deepEqual([sent.status, ((await sent.json()) as Loose).error.message], [400, "the body is not UTF-8"]);
      const deep = `{"input":"hi","metadata":${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}}`;
      assert.equal((await ask("/v1/responses", deep)).status, 400);
    });
  });
});

describe("methods and routes", () => {
  it("are answered as HTTP has it, in the shape of the API under whose path they are", async () => {
    await withServer({}, async (ask, origin) => {
      const head = await fetch(`${origin}/v1/models`, { method: "HEAD" });
      assert.deepEqual([head.status, await head.text()], [200, ""]);
      const wrong = await fetch(`${origin}/v1/chat/completions`);
      assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "POST"]);
      assert.match(wrong.headers.get("x-request-id")!, /^req_/);
      const lost: Loose = await (await ask("/v1/messages/batches", {})).json();
      assert.deepEqual([lost.type, lost.error.type], ["error", "not_found_error"]);
      const unknown: Loose = await (await ask("/v1/embeddings", {})).json();
      assert.equal(unknown.error.type, "invalid_request_error");
      const none: Loose = await (await ask("/v1/messages/count_tokens", {})).json();
      assert.equal(none.error.type, "invalid_request_error");
    });
  });
});

describe("stop sequences", () => {
  it("end the answer before them, whole and streamed, however the pieces fall", async () => {
    await withServer({}, async (ask) => {
      const chat: Loose = await (await ask("/v1/chat/completions", { messages, stop: ["zz", "on"] })).json();
      assert.deepEqual([chat.choices[0].message.content, chat.choices[0].finish_reason], ["Ly", "stop"]);
      const streamed = await (await ask("/v1/chat/completions", { messages, stop: "yon", stream: true })).text();
      const pieces = eventsOf(streamed).filter((one) => one !== "[DONE]").map((one) => JSON.parse(one)); // biome-ignore format: one list
      assert.equal(pieces.map(({ choices }) => choices[0].delta.content ?? "").join(""), "L");
      const body = { max_tokens: 600, messages, stop_sequences: ["on"] };
      const message: Loose = await (await ask("/v1/messages", body)).json();
      assert.deepEqual([message.stop_reason, message.stop_sequence], ["stop_sequence", "on"]);
      assert.equal(message.content.at(-1).text, "Ly");
      const held = await (await ask("/v1/messages", { ...body, stop_sequences: ["ons"], stream: true })).text();
      const texts = eventsOf(held).map((one) => JSON.parse(one).delta?.text ?? "");
      assert.equal(texts.join(""), "Lyon", "what only began like a stop is told");
    });
  });
});
