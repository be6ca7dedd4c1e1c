/** Whatever goes wrong is said in the shape of the API that was called, before an answer began and in the middle of a stream. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { serveStore } from "./store/open-store.ts";
import { openSqlite } from "./store/sqlite.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const messages = [{ role: "user", content: question }];
const input_schema = { type: "object", properties: {} };
const apis = {
  "/v1/chat/completions": {
    messages,
    tools: [{ type: "function", function: { name: "f", parameters: input_schema } }],
  },
  "/v1/responses": { input: question, tools: [{ type: "function", name: "f", parameters: input_schema }] },
  "/v1/messages": { max_tokens: 600, messages, tools: [{ name: "f", input_schema }] },
};

function checkShape(path: string, body: Loose): string {
  assert.equal(typeof body.error?.message, "string", JSON.stringify(body));
  assert.equal(typeof body.error.type, "string");
  if (path === "/v1/messages") assert.equal(body.type, "error");
  else assert.ok("param" in body.error && "code" in body.error);
  return body.error.code ?? body.error.type;
}

describe("errors", () => {
  const key = { authorization: "Bearer first-key" };
  for (const [path, sent] of Object.entries(apis)) {
    it(`have the shape of ${path}`, async () => {
      await withServer({ keys: [{ key: "first-key" }], maxBodyBytes: 10_000 }, async (ask) => {
        const refused = async (status: number, body: unknown, headers: Record<string, string> = key) => {
          const reply = await ask(path, body, headers);
          assert.equal(reply.status, status);
          assert.match(reply.headers.get("x-request-id")!, /^req_/);
          return checkShape(path, await reply.json());
        };
        await refused(401, sent, {});
        await refused(401, sent, { authorization: "Bearer wrong-key" });
        await refused(404, { ...sent, model: "gpt-9" });
        await refused(400, "{not json");
        await refused(400, "[1]");
        await refused(413, { ...sent, padding: "x".repeat(20_000) });
        await refused(400, { ...sent, temperature: -1 });
        const { tools: _tools, ...plain } = sent as Loose;
        assert.equal((await ask(path, { ...plain, no_such_parameter: { deep: [1] } }, key)).status, 200);
      });
    });

    it(`tell through ${path} that the model's server is dead`, async () => {
      const model = openaiCompatible({ baseURL: "http://127.0.0.1:9/v1", model: "gone", mode: "turns", retries: 0 });
      await withServer({ model }, async (ask) => {
        const reply = await ask(path, sent);
        assert.equal(reply.status, 502);
        checkShape(path, await reply.json());
        const streamed = await ask(path, { ...sent, stream: true });
        const text = await streamed.text();
        // What fails before the first event keeps its status.
        const events = streamed.ok ? eventsOf(text).filter((one) => one !== "[DONE]") : [text];
        const last: Loose = JSON.parse(events.at(-1)!);
        if (path === "/v1/responses") assert.equal(last.type, "response.failed");
        else checkShape(path, last);
      });
    });

    it(`tell through ${path} that the disk is full, and nothing is handed over that can't be found again`, async () => {
      const folder = await mkdtemp(join(tmpdir(), "coa-serve-full-"));
      try {
        const store = await serveStore(await openSqlite(join(folder, "full.sqlite"), { maxPages: 1 }));
        const long: Loose = JSON.parse(JSON.stringify(sent).replaceAll(question, `${question} ${"x".repeat(20_000)}`));
        const model = scriptedModel(({ prompt, text }) =>
          prompt[0]!.content.includes("<f>") ? "<think>t</think><f></f>" : (good as Loose)({ text }),
        );
        const toolsOf = () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
        await withServer({ model, store, toolsOf }, async (ask) => {
          const reply = await ask(path, long);
          const body: Loose = await reply.json();
          assert.equal(reply.status, 500, JSON.stringify(body));
          checkShape(path, body);
          assert.doesNotMatch(JSON.stringify(body), /call_|toolu_/);
          const { tools: _tools, ...plain } = long;
          const stored = await ask(path, plain);
          assert.equal(stored.status, path === "/v1/responses" ? 500 : 200);
          assert.equal((await ask(path, { ...plain, store: false })).status, 200, "what stores nothing is served");
        });
        await store.close().catch(() => {});
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
});

describe("errors of what stands behind", () => {
  it("pass a rate limit and its time on, and show no address of it", async () => {
    const statuses: [number, number][] = [[429, 429], [503, 503], [500, 502]]; // biome-ignore format: one table
    for (const [status, expected] of statuses) {
      const upstream = createServer((_, response) => {
        response.writeHead(status, { "retry-after": "7" });
        response.end('{"error": {"message": "down at http://10.1.2.3:8000/v1 (llm.internal:8000)"}}');
      });
      await once(upstream.listen(0, "127.0.0.1"), "listening");
      const { port } = upstream.address() as AddressInfo;
      const model = openaiCompatible({ baseURL: `http://127.0.0.1:${port}/v1`, model: "m", retries: 0, mode: "turns" });
      try {
        await withServer({ model }, async (ask) => {
          for (const [path, { tools: _, ...sent }] of Object.entries(apis)) {
            const reply = await ask(path, sent);
            const body = await reply.json();
            assert.equal(reply.status, expected, `${path} ${JSON.stringify(body)}`);
            assert.equal(reply.headers.get("retry-after"), expected === 502 ? null : "7");
            checkShape(path, body);
            assert.doesNotMatch(JSON.stringify(body), /127\.0\.0\.1|10\.1\.2\.3|internal:8000|:\/\//);
          }
        });
      } finally {
        upstream.close();
        upstream.closeAllConnections();
        await model.close?.();
      }
    }
  });
});
