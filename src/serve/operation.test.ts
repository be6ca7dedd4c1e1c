import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import type { RequestLine } from "../base/http/guard.ts";
import { scriptedModel } from "../testing/index.ts";
import { requestLog } from "./serve.ts";

// biome-ignore lint/suspicious/noExplicitAny: lines of a log
type Loose = any;
const messages = [{ role: "user", content: "Where does Ada live?" }];
const mine = { authorization: "Bearer first-key" };
const keys = [{ key: "first-key", name: "ada" }, { key: "other-key" }];

describe("operation", () => {
  it("logs a line of JSON for each request: by its id, key, chain and tokens; errors without secrets", async () => {
    const lines: Loose[] = [];
    const onRequest = requestLog("info", (line) => lines.push(JSON.parse(line)));
    const failing = new Error("refused at http://10.0.0.1/v1 with sk-abcdefghijklmnopqrstuvwxyz123456");
    const model = scriptedModel((request, call) => {
      if (request.prompt.at(-1)!.content === "fail") throw failing;
      return (good as Loose)(request, call);
    });
    await withServer({ model, keys, onRequest }, async (ask) => {
      const reply = await ask("/v1/chat/completions", { messages }, mine);
      const { usage }: Loose = await reply.json();
      await (await ask("/v1/chat/completions", { messages: [{ role: "user", content: "fail" }] }, mine)).text();
      await (await ask("/v1/chat/completions", { messages })).text();
      const [first, second, third] = lines;
      assert.equal(first.request, reply.headers.get("x-request-id"));
      assert.equal(first.chain, reply.headers.get("x-coa-trajectory"));
      assert.deepEqual([first.level, first.key, first.status], ["info", "ada", 200]);
      assert.equal(first.tokens, usage.prompt_tokens + usage.completion_tokens);
      assert.deepEqual([second.level, second.status], ["error", 502]);
      assert.match(second.error, /10\.0\.0\.1/);
      assert.doesNotMatch(second.error, /sk-abcdef/);
      assert.deepEqual([third.level, third.status, third.key], ["warn", 401, undefined]);
    });
    const told: string[] = [];
    const log = requestLog("error", (line) => told.push(line));
    for (const status of [200, 404, 500]) log({ id: "r", method: "GET", path: "/", route: "", status, ms: 1 } as RequestLine); // biome-ignore format: one loop
    assert.equal(told.length, 1);
  });

  it("names the key of a request that is refused because its key may send no more, and how long others waited", async () => {
    const lines: Loose[] = [];
    const onRequest = requestLog("info", (line) => lines.push(JSON.parse(line)));
    const limited = [{ key: "first-key", requestsPerMinute: 1 }, { key: "other-key" }];
    await withServer({ keys: limited, onRequest }, async (ask) => {
      for (let i = 0; i < 2; i++) await (await ask("/v1/chat/completions", { messages }, mine)).text();
      assert.deepEqual(
        lines.map(({ status, key }) => [status, key]),
        [
          [200, "key 1"],
          [429, "key 1"],
        ],
      );
      assert.deepEqual(
        lines.map(({ queue_ms }) => typeof queue_ms),
        ["number", "undefined"],
      );
    });
  });

  it("shows histograms by route, model and key, what each key used, and the version", async () => {
    await withServer({ keys, name: "lab" }, async (ask) => {
      await (await ask("/v1/chat/completions", { messages, stream: true }, mine)).text();
      const page = await (await ask("/metrics", undefined, mine)).text();
      const labels = 'route="POST /v1/chat/completions",model="lab",key="ada"';
      assert.match(page, /# TYPE coa_request_seconds histogram/);
      assert.ok(page.includes(`coa_request_seconds_bucket{${labels},le="+Inf"} 1`), page);
      assert.ok(page.includes(`coa_request_seconds_count{${labels}} 1`));
      assert.ok(page.includes(`coa_first_event_seconds_count{${labels}} 1`));
      assert.ok(page.includes(`coa_queue_seconds_count{${labels}} 1`));
      assert.match(page, /coa_key_tokens_total\{key="ada"\} [1-9]/);
      const { version }: Loose = await (await ask("/version", undefined, mine)).json();
      assert.match(version, /^\d+\.\d+/);
    });
  });

  it("describes every route at /openapi.json, with what bodies are checked with", async () => {
    await withServer({ keys }, async (ask) => {
      const page: Loose = await (await ask("/openapi.json", undefined, mine)).json();
      assert.match(page.openapi, /^3\.1/);
      for (const path of [
        "/v1/chat/completions",
        "/v1/responses/{id}/cancel",
        "/api/chat",
        "/mcp",
        "/v1/usage",
        "/ready",
      ])
        assert.ok(page.paths[path], path);
      assert.deepEqual(Object.keys(page.paths["/v1/responses/{id}"]).sort(), ["delete", "get"]);
      const { schema } = page.paths["/v1/chat/completions"].post.requestBody.content["application/json"];
      assert.deepEqual(schema.required, ["messages"]);
      assert.equal(schema.properties.temperature.anyOf[0].maximum, 2);
      assert.deepEqual(page.paths["/v1/responses/{id}"].get.parameters[0].name, "id");
      assert.ok(page.components.securitySchemes.bearer);
      const operations = Object.values<Loose>(page.paths).flatMap((one) => Object.values<Loose>(one));
      assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    });
  });

  it("tells a key what it used by day and month, and a key that may read it what all used", async () => {
    const reader = { key: "reader-key", name: "books", readsUsage: true };
    await withServer({ keys: [...keys, reader] }, async (ask) => {
      const chat: Loose = await (await ask("/v1/chat/completions", { messages }, mine)).json();
      await (await ask("/v1/messages", { messages, max_tokens: 1000 }, { "x-api-key": "other-key" })).text();
      const used = async (key: string): Promise<Loose[]> =>
        ((await (await ask("/v1/usage", undefined, { "x-api-key": key })).json()) as Loose).data;
      const own = await used("first-key");
      const { prompt_tokens, completion_tokens } = chat.usage;
      const today = new Date().toISOString();
      for (const row of own) {
        assert.deepEqual([row.key, row.requests, row.tokens], ["ada", 1, prompt_tokens + completion_tokens]);
        assert.ok(today.startsWith(row.period));
        assert.equal(row.owner, undefined);
      }
      assert.deepEqual(own.map(({ period }) => period.length).sort(), [10, 7]);
      assert.deepEqual(new Set((await used("reader-key")).map(({ key }) => key)), new Set(["ada", "key 2"]));
      assert.deepEqual([...new Set((await used("other-key")).map(({ key }) => key))], ["key 2"]);
    });
  });

  it("counts the tokens of a response before it is asked for", async () => {
    await withServer({}, async (ask) => {
      const counted: Loose = await (await ask("/v1/responses/input_tokens", { input: "Where does Ada live?" })).json();
      assert.equal(counted.object, "response.input_tokens");
      assert.ok(counted.input_tokens > 2);
    });
  });

  it("keeps chats of two keys apart that have the same id", async () => {
    let go = () => {};
    const waiting = new Promise<void>((resolve) => (go = resolve));
    const model = scriptedModel(async (request, call) => {
      if (request.prompt.at(-1)!.content.includes("slow")) await waiting;
      return (good as Loose)(request, call);
    });
    await withServer({ model, keys }, async (ask) => {
      const chat = (text: string) => ({ id: "same", messages: [{ role: "user", parts: [{ type: "text", text }] }] });
      const first = ask("/api/chat", chat("slow"), mine);
      await first;
      await (await ask("/api/chat", chat("quick"), { authorization: "Bearer other-key" })).text();
      const resumed = await ask("/api/chat/same/stream", undefined, mine);
      assert.equal(resumed.status, 200, "it can still be resumed");
      go();
      assert.match(await resumed.text(), /Lyon/);
      await (await first).text();
    });
  });
});
