import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf, serverEvents } from "../base/http/server-events.ts";
import type { ContinueEvent, Model } from "../core/model.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const messages = [{ role: "user", content: question }];

/** A model whose next piece comes when the test lets it. */
function steppedModel(): { model: Model; next(): void } {
  const turns = [
    ["<think>look", " it up</think>", "<wiki_search>Ada</wiki_search>"],
    ["<think>there</think><answer> Ly", "on is", " it \n", "</answer>"],
  ];
  let call = 0;
  let allowed = 0;
  let wake = () => {};
  const model: Model = {
    ...scriptedModel([]),
    async *continue(): AsyncGenerator<ContinueEvent> {
      for (const text of turns[call++]!) {
        while (allowed === 0) await new Promise<void>((resolve) => { wake = resolve; }); // biome-ignore format: one wait
        allowed--;
        yield { type: "delta", text };
      }
      yield { type: "end", finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
    },
  };
  return {
    model,
    next() {
      allowed++;
      wake();
    },
  };
}

/** What an event of each API adds to the roles and to the answer. */
const readers: Record<string, { body: object; read: (event: Loose) => { role?: string; answer?: string } }> = {
  "/v1/chat/completions": {
    body: { messages },
    read: ({ choices: [{ delta }] }) => ({ role: delta.reasoning, answer: delta.content }),
  },
  "/v1/responses": {
    body: { input: question },
    read: ({ type, delta }) =>
      type === "response.output_text.delta"
        ? { answer: delta }
        : type === "response.reasoning_summary_text.delta"
          ? { role: delta }
          : {},
  },
  "/v1/messages": {
    body: { messages, max_tokens: 2000, thinking: { type: "adaptive" } },
    read: ({ delta }) => ({ role: delta?.thinking, answer: delta?.text }),
  },
  "/api/chat": {
    body: { messages: [{ id: "u", role: "user", parts: [{ type: "text", text: question }] }] },
    read: ({ type, delta }) =>
      type === "text-delta" ? { answer: delta } : type === "reasoning-delta" ? { role: delta } : {},
  },
};

describe("a served stream", () => {
  for (const [path, { body, read }] of Object.entries(readers)) {
    it(`brings roles and answer with the first piece of each through ${path}`, async () => {
      const { model, next } = steppedModel();
      await withServer({ model }, async (ask) => {
        const pending = ask(path, { ...body, stream: true });
        next(); // one piece of the first role, no more
        const events = serverEvents((await pending).body as unknown as AsyncIterable<Uint8Array>);
        const reader = events[Symbol.asyncIterator]();
        let roles = "";
        let answer = "";
        const until = async (done: () => boolean) => {
          while (!done()) {
            const { value, done: over } = await reader.next();
            assert.ok(!over && value !== undefined, `ended with ${roles} and ${answer}`);
            if (value === "[DONE]") continue;
            const added = read(JSON.parse(value));
            roles += added.role ?? "";
            answer += added.answer ?? "";
          }
        };
        await until(() => roles.includes("look"));
        assert.doesNotMatch(roles, /it up/, "the second piece was not made yet");
        for (let count = 0; count < 3; count++) next();
        await until(() => answer === "Ly");
        next();
        await until(() => answer === "Lyon is");
        next();
        next();
        for await (const value of events) if (value !== "[DONE]") answer += read(JSON.parse(value)).answer ?? "";
        assert.equal(answer, "Lyon is it");
      });
    });
  }

  it("never shows an answer that the runtime refuses", async () => {
    const model = scriptedModel((request) =>
      request.text === "" ? "<answer>too early</answer>" : (good as (request: unknown) => string)(request),
    );
    await withServer({ model }, async (ask) => {
      for (const [path, { body }] of Object.entries(readers)) {
        const text = await (await ask(path, { ...body, stream: true })).text();
        assert.doesNotMatch(text, /too early/);
        assert.match(text, /Lyon/);
      }
    });
  });

  it("lets the model keep its cache between the turns of a conversation, and between no others", async () => {
    const model = scriptedModel(good);
    const keys = [{ key: "first-key" }, { key: "other-key" }];
    await withServer({ model, keys }, async (ask) => {
      const session = async (said: Loose[], key = "first-key") => {
        model.requests.length = 0;
        await (await ask("/v1/chat/completions", { messages: said }, { authorization: `Bearer ${key}` })).json();
        const names = new Set(model.requests.map((request) => request.sessionKey));
        assert.equal(names.size, 1);
        return [...names][0];
      };
      const first = await session(messages);
      const later = [...messages, { role: "assistant", content: "Lyon" }, { role: "user", content: "And Bob?" }];
      assert.equal(await session(later), first);
      assert.notEqual(await session([{ role: "user", content: "And Bob?" }]), first);
      assert.notEqual(await session(messages, "other-key"), first);
    });
  });

  it("shows of an answer that the limit of tokens cuts what a whole reply shows, and no half tag", async () => {
    const said = "<answer>Ada is in Lyon</answer>";
    const chain = `<think>x</think><plan>p</plan><think>y</think>${said}`;
    /** A token is a character; it continues where it was cut, and answers when it is asked to. */
    const model: Model = {
      ...scriptedModel([]),
      countTokens: (text) => text.length,
      async *continue({ text, maxTokens }): AsyncGenerator<ContinueEvent> {
        const rest = chain.startsWith(text) ? chain.slice(text.length) : said;
        const written = rest.slice(0, maxTokens);
        for (const piece of written.match(/.{1,3}/gs) ?? []) yield { type: "delta", text: piece };
        const usage = { promptTokens: 1, completionTokens: written.length };
        yield { type: "end", finish: written === rest ? "stop" : "length", usage };
      },
    };
    for (const answerReserve of [512, 0])
      await withServer({ model, defaults: { limits: { answerReserve } } }, async (ask) => {
        const seen = new Set<string>();
        for (let max = 1; max < 110; max++) {
          const body = { messages, max_tokens: max };
          const { choices }: Loose = await (await ask("/v1/chat/completions", body)).json();
          const streamed = await (await ask("/v1/chat/completions", { ...body, stream: true })).text();
          const chunks = eventsOf(streamed)
            .slice(0, -1)
            .map((event) => JSON.parse(event).choices[0]);
          const { content } = choices[0].message;
          assert.equal(chunks.map(({ delta }) => delta.content ?? "").join(""), content, `${max} tokens`);
          assert.equal(chunks.at(-1).finish_reason, choices[0].finish_reason);
          assert.ok("Ada is in Lyon".startsWith(content), content);
          seen.add(content);
        }
        assert.ok(seen.size > 8, [...seen].join("|"));
      });
  });
});
