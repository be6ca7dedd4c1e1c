import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { chainHandler } from "./chain-handler.ts";
import { serve } from "./serve.ts";

const body = { model: "coa", messages: [{ role: "user", content: "Where does Ada live?" }] };

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;

describe("chat completions", () => {
  it("answers whole: roles as reasoning in both spellings, the answer as content, tokens counted", async () => {
    await withServer({}, async (ask) => {
      const response = await ask("/v1/chat/completions", body);
      assert.equal(response.status, 200);
      assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
      assert.match(response.headers.get("x-coa-trajectory") ?? "", /^chain_/);
      const reply: Loose = await response.json();
      assert.equal(reply.object, "chat.completion");
      const [choice] = reply.choices;
      assert.equal(choice.message.content, "Lyon");
      assert.equal(choice.finish_reason, "stop");
      assert.equal(choice.message.reasoning, "think: look it up\nwiki_search: Ada\nthink: there");
      assert.equal(choice.message.reasoning_content, choice.message.reasoning);
      assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
      assert.ok(reply.usage.prompt_tokens_details.cached_tokens > 0);
    });
  });

  it("streams the same, the usage last and only on request", async () => {
    await withServer({}, async (ask) => {
      const asked = { ...body, stream: true, stream_options: { include_usage: true } };
      const response = await ask("/v1/chat/completions", asked);
      assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
      const data = eventsOf(await response.text());
      assert.equal(data.at(-1), "[DONE]");
      const chunks: Loose[] = data.slice(0, -1).map((one) => JSON.parse(one));
      assert.deepEqual(chunks[0].choices[0].delta, { role: "assistant", content: "" });
      const joined = (field: string) => chunks.map((chunk) => chunk.choices[0]?.delta[field] ?? "").join("");
      assert.equal(joined("reasoning"), "think: look it up\nwiki_search: Ada\nthink: there");
      assert.equal(joined("content"), "Lyon");
      assert.deepEqual(chunks.at(-1).choices, []);
      assert.ok(chunks.at(-1).usage.total_tokens > 0);
      assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
      const plain = eventsOf(await (await ask("/v1/chat/completions", { ...body, stream: true })).text());
      assert.ok(!plain.some((one) => one.includes('"usage"')));
    });
  });

  it("lists its model, and refuses in the API's own shape", async () => {
    await withServer({}, async (ask) => {
      const list: Loose = await (await ask("/v1/models")).json();
      assert.equal(list.data[0].id, "scripted");
      assert.equal((await ask("/v1/models/scripted")).status, 200);
      const refused = async (path: string, sent: unknown, status: number, code: string | null) => {
        const response = await ask(path, sent);
        const { error }: Loose = await response.json();
        assert.equal(response.status, status, JSON.stringify(error));
        assert.equal(error.code, code);
        assert.equal(typeof error.message, "string");
        assert.ok(error.type);
      };
      const chat = "/v1/chat/completions";
      await refused(chat, { ...body, model: "gpt-9" }, 404, "model_not_found");
      await refused(chat, "{ nonsense", 400, null);
      await refused(chat, [], 400, null);
      await refused(chat, { ...body, messages: [] }, 400, "invalid_value");
      await refused(chat, { ...body, temperature: 1000 }, 400, "invalid_value");
      await refused(chat, { ...body, n: 2 }, 400, null);
      const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }];
      await refused(chat, { ...body, messages: image }, 400, "unsupported_media");
      await refused("/v1/nothing", {}, 404, null);
      await refused("/v1/models", {}, 405, null);
      assert.equal((await ask(chat, { ...body, some_new_parameter: 7 })).status, 200);
    });
    await withServer({ maxBodyBytes: 100 }, async (ask) => {
      assert.equal((await ask("/v1/chat/completions", " ".repeat(5000))).status, 413);
    });
  });

  it("says that the model behind it failed, before and in a stream", async () => {
    await withServer(
      { model: scriptedModel([new Error("out of memory"), new Error("out of memory")]) },
      async (ask) => {
        const whole = await ask("/v1/chat/completions", body);
        assert.equal(whole.status, 502);
        assert.match(((await whole.json()) as Loose).error.message, /out of memory/);
        const streamed = await (await ask("/v1/chat/completions", { ...body, stream: true })).text();
        assert.match(streamed, /"error":\{.*out of memory/);
      },
    );
  });

  it("asks for the tools of a task once", async () => {
    let asked = 0;
    const toolsOf = () => {
      asked++;
      return [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
    };
    await withServer({ toolsOf }, async (ask) => {
      const messages = [{ role: "system", content: "Be brief." }, ...body.messages];
      assert.equal((await ask("/v1/chat/completions", { messages })).status, 200);
    });
    assert.equal(asked, 1);
  });

  it("takes instructions and the turns before as the chain's prompt", async () => {
    const model = scriptedModel(["<think>x</think><answer>B</answer>"]);
    await withServer({ model }, async (ask) => {
      const messages = [
        { role: "system", content: "Be brief." },
        { role: "user", content: "A?" },
        { role: "assistant", content: "A." },
        { role: "user", content: "B?" },
      ];
      await (await ask("/v1/chat/completions", { messages })).json();
      const { prompt } = model.requests[0]!;
      assert.match(prompt[0]!.content, /play every role[\s\S]*Be brief\.$/);
      assert.deepEqual(
        prompt.slice(1).map(({ role, content }) => [role, content]),
        [
          ["user", "A?"],
          ["assistant", "A."],
          ["user", "B?"],
        ],
      );
    });
  });
});

describe("a server", () => {
  it("asks for keys, counts their requests and their tokens", async () => {
    const keys = [
      { key: "key-number-one", requestsPerMinute: 2 },
      { key: "key-number-two", maxTokens: 1 },
    ];
    await withServer({ keys }, async (ask) => {
      const by = (key: string) => ask("/v1/chat/completions", body, { authorization: `Bearer ${key}` });
      assert.equal((await ask("/v1/chat/completions", body)).status, 401);
      assert.equal((await by("key-number-on")).status, 401);
      const first = await by("key-number-one");
      assert.equal(first.status, 200);
      assert.equal(first.headers.get("x-ratelimit-remaining-requests"), "1");
      const spent = await ask("/v1/chat/completions", body, { "x-api-key": "key-number-two" });
      assert.equal(spent.status, 200);
      const refused = await by("key-number-two");
      assert.equal(refused.status, 429);
      assert.equal(((await refused.json()) as Loose).error.code, "insufficient_quota");
      assert.equal((await ask("/health")).status, 200);
    });
  });

  it("tells whether a chain may be kept: neither the request nor the key may forbid it", async () => {
    const kept: boolean[] = [];
    const keys = [{ key: "key-number-one" }, { key: "key-number-two", keep: false }];
    await withServer({ keys, onTrajectory: (_trajectory, mayKeep) => kept.push(mayKeep) }, async (ask) => {
      const by = (key: string, more: object) =>
        ask("/v1/chat/completions", { ...body, ...more }, { authorization: `Bearer ${key}` });
      await by("key-number-one", {});
      await by("key-number-one", { store: false });
      await by("key-number-two", {});
    });
    assert.deepEqual(kept, [true, false, false]);
  });

  it("refuses foreign pages, allows those named, and does not listen to the world without a key", async () => {
    await withServer({ access: { origins: ["https://app.example"] } }, async (ask, origin) => {
      assert.equal((await ask("/v1/models", undefined, { origin: "https://evil.example" })).status, 403);
      const allowed = await ask("/v1/models", undefined, { origin: "https://app.example" });
      assert.equal(allowed.headers.get("access-control-allow-origin"), "https://app.example");
      const preflight = await fetch(`${origin}/v1/models`, {
        method: "OPTIONS",
        headers: { origin: "https://app.example", "access-control-request-headers": "authorization" },
      });
      assert.equal(preflight.headers.get("access-control-allow-headers"), "authorization");
    });
    const served = await chainHandler({ model: scriptedModel(good), profile: mhqaProfile, toolsOf: () => [] });
    await assert.rejects(serve(served, { host: "0.0.0.0" }), /give it a key first/);
  });

  it("lets chains wait in a queue, and refuses with Retry-After when it is full", async () => {
    const go = Promise.withResolvers<void>();
    const model = scriptedModel(async (request) => {
      await go.promise;
      return (good as (request: unknown) => string)(request);
    });
    await withServer({ model, maxChains: 1, maxQueue: 1 }, async (ask) => {
      const running = ask("/v1/chat/completions", body);
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const waiting = ask("/v1/chat/completions", body);
      while (!/coa_chains_waiting 1/.test(await (await ask("/metrics")).text()));
      const refused = await ask("/v1/chat/completions", body);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers.get("retry-after"), "2");
      go.resolve();
      assert.equal((await running).status, 200);
      assert.equal((await waiting).status, 200);
    });
  });

  it("stops the chain when its client leaves", async () => {
    const stopped = Promise.withResolvers<void>();
    const model = scriptedModel(
      (request) =>
        new Promise<string>((_resolve, reject) => {
          request.signal?.addEventListener("abort", () => {
            stopped.resolve();
            reject(request.signal!.reason);
          });
        }),
    );
    await withServer({ model }, async (ask, origin) => {
      const controller = new AbortController();
      const asked = fetch(`${origin}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify(body),
        signal: controller.signal,
      });
      while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await assert.rejects(asked);
      await stopped.promise;
      while (!/coa_chains_running 0/.test(await (await ask("/metrics")).text()));
      assert.match(await (await ask("/metrics")).text(), /coa_chains_total\{ending="aborted"\} 1/);
    });
  });

  it("speaks fetch as well, for frameworks", async () => {
    const { fetch: handle } = await chainHandler({
      model: scriptedModel(good),
      profile: mhqaProfile,
      toolsOf: () => [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")],
    });
    const sent = { method: "POST", body: JSON.stringify({ ...body, stream: true }) };
    const response = await handle(new Request("http://localhost/v1/chat/completions", sent));
    assert.equal(eventsOf(await response.text()).at(-1), "[DONE]");
    assert.equal((await handle(new Request("http://localhost/nothing"))).status, 404);
  });
});
