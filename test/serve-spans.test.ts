/** Served requests as spans of the host's own OpenTelemetry. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { scriptedModel } from "../src/testing/index.ts";
import { good, withServer } from "./fixtures/serve-server.ts";

// biome-ignore lint/suspicious/noExplicitAny: a library whose types are not installed with the package
type Loose = any;
const folder = join(import.meta.dirname, "frameworks/node_modules/@opentelemetry");
const skip = existsSync(join(folder, "sdk-trace-base"))
  ? false
  : "install the frameworks first: npm install --prefix test/frameworks";
const load = async (name: string): Promise<Loose> => {
  const { main } = (await import(pathToFileURL(join(folder, name, "package.json")).href, { with: { type: "json" } }))
    .default;
  return import(pathToFileURL(join(folder, name, main)).href);
};
const messages = [{ role: "user", content: "Where does Ada live?" }];

describe("spans of a server", { skip }, () => {
  const api: Promise<Loose> = import("@opentelemetry/api");
  let spans: Loose;
  before(async () => {
    const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = await load("sdk-trace-base");
    const { AsyncLocalStorageContextManager } = await load("context-async-hooks");
    const { W3CTraceContextPropagator } = await load("core");
    const { context, propagation, trace } = await api;
    spans = new InMemorySpanExporter();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  });
  after(async () => {
    const { context, propagation, trace } = await api;
    for (const one of [context, propagation, trace]) one.disable();
  });

  it("continue the caller's trace, contain what the host instruments, and have what was used", async () => {
    const { trace } = await api;
    const inside: (string | undefined)[] = [];
    const model = scriptedModel((request, call) => {
      inside.push(trace.getActiveSpan()?.spanContext().traceId);
      if (request.prompt.at(-1)!.content === "fail") throw new Error("down");
      return (good as Loose)(request, call);
    });
    await withServer({ model, name: "lab", keys: [{ key: "first-key", name: "ada" }] }, async (ask) => {
      const traceId = "0af7651916cd43dd8448eb211c80319c";
      const headers = { "x-api-key": "first-key", traceparent: `00-${traceId}-b7ad6b7169203331-01` };
      const last = async (path: string, body: object) => {
        spans.reset();
        const reply = await ask(path, body, headers);
        const text = await reply.text();
        const [span] = spans.getFinishedSpans();
        assert.equal(span.spanContext().traceId, traceId);
        assert.equal((span.parentSpanContext ?? { spanId: span.parentSpanId }).spanId, "b7ad6b7169203331");
        assert.equal(span.attributes["coa.request_id"], reply.headers.get("x-request-id"));
        return { span, text, reply };
      };
      const { span, text, reply } = await last("/v1/chat/completions", { messages });
      const { usage } = JSON.parse(text);
      assert.equal(span.name, "POST /v1/chat/completions");
      assert.equal(span.attributes["gen_ai.usage.input_tokens"], usage.prompt_tokens);
      assert.equal(span.attributes["gen_ai.usage.output_tokens"], usage.completion_tokens);
      assert.equal(span.attributes["gen_ai.request.model"], "lab");
      assert.equal(span.attributes["coa.key"], "ada");
      assert.equal(span.attributes["coa.chain"], reply.headers.get("x-coa-trajectory"));
      assert.deepEqual([...new Set(inside)], [traceId]);
      const streamed = (await last("/v1/messages", { messages, max_tokens: 1000, stream: true })).span;
      assert.ok(streamed.attributes["gen_ai.usage.output_tokens"] > 0);
      const failing = [{ role: "user", content: "fail" }];
      for (const stream of [false, true]) {
        const failed = (await last("/v1/chat/completions", { messages: failing, stream })).span;
        assert.deepEqual([failed.status.code, failed.attributes["http.response.status_code"]], [2, 502]);
      }
      assert.equal((await last("/v1/chat/completions", { messages: [] })).span.status.code, 0, "the client's fault");
    });
  });
});
