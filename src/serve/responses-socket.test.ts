import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { WebSocket } from "ws";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
const question = "Where does Ada live?";
const create = { type: "response.create", store: false, input: question };

/** A connection on which one response is asked for and read after the other. */
async function connect(origin: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${origin.replace("http", "ws")}/v1/responses`, { headers });
  const events: Loose[] = [];
  let wake = () => {};
  socket.on("message", (data) => {
    events.push(JSON.parse(String(data)));
    wake();
  });
  await once(socket, "open");
  return {
    socket,
    async ask(message: unknown): Promise<Loose[]> {
      events.length = 0;
      socket.send(typeof message === "string" ? message : JSON.stringify(message));
      const isLast = ({ type }: Loose) => /^response\.(?:completed|failed|incomplete)$|^error$/.test(type);
      while (!events.some(isLast)) await new Promise<void>((resolve) => { wake = resolve; }); // biome-ignore format: one wait
      return [...events];
    },
  };
}

describe("responses over WebSocket", () => {
  it("answers one message after another with the events of a stream", async () => {
    await withServer({}, async (ask, origin) => {
      const { socket, ask: send } = await connect(origin);
      const first = await send(create);
      assert.deepEqual(
        first.map((event) => event.sequence_number),
        [...first.keys()],
      );
      assert.equal(first[0].type, "response.created");
      assert.equal(first.at(-1).response.output.at(-1).content[0].text, "Lyon");
      const stored = (await send({ ...create, store: true })).at(-1).response;
      assert.equal((await ask(`/v1/responses/${stored.id}`)).status, 200);
      assert.equal((await ask(`/v1/responses/${first.at(-1).response.id}`)).status, 404);
      socket.close();
    });
  });

  it("continues what was not stored on its own connection alone, until a continuation fails", async () => {
    const model = scriptedModel(good);
    await withServer({ model }, async (_ask, origin) => {
      const one = await connect(origin);
      const first = (await one.ask(create)).at(-1).response;
      const next = { ...create, previous_response_id: first.id, input: "And now?" };
      assert.equal((await one.ask(next)).at(-1).type, "response.completed");
      const told = model.requests.at(-1)!.prompt.slice(1).map(({ role, content }) => `${role}: ${content}`); // biome-ignore format: one list
      assert.deepEqual(told, [`user: ${question}`, "assistant: Lyon", "user: And now?"]);
      const other = await connect(origin);
      const [refused] = await other.ask(next);
      assert.deepEqual(
        [refused.type, refused.status, refused.error.code],
        ["error", 404, "previous_response_not_found"],
      );
      const orphan = { type: "function_call_output", call_id: "call_none", output: "x" };
      assert.equal((await one.ask({ ...next, input: [orphan] }))[0].error.code, "unknown_tool_call");
      assert.equal((await one.ask(next))[0].error.code, "previous_response_not_found");
      assert.equal((await one.ask(create)).at(-1).type, "response.completed", "the connection works on");
      one.socket.close();
      other.socket.close();
    });
  });

  it("refuses other messages, other paths, and callers without a key", async () => {
    await withServer({ keys: [{ key: "first-key" }] }, async (_ask, origin) => {
      await assert.rejects(connect(origin), /401/);
      const headers = { authorization: "Bearer first-key" };
      await assert.rejects(connect(`${origin}/x`, headers), /404/);
      await assert.rejects(connect(origin, { ...headers, origin: "https://evil.example" }), /403/);
      const { socket, ask } = await connect(origin, headers);
      for (const wrong of ["no json", "[]", { type: "session.update" }]) {
        assert.equal((await ask(wrong))[0].error.code, "invalid_message");
      }
      assert.equal((await ask({ ...create, stream: true }))[0].error.param, "stream");
      assert.equal((await ask({ ...create, model: "gpt-9" }))[0].error.code, "model_not_found");
      socket.close();
    });
  });

  it("stops the chain of a client that leaves, and ends what is under way when the server stops", async () => {
    const seen = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const model = scriptedModel(async (request, call) => {
      if (call === 0) {
        seen.resolve();
        await new Promise<void>((resolve) => request.signal!.addEventListener("abort", () => resolve()));
        aborted.resolve();
      }
      await go.promise;
      return "<think>t</think><answer>Lyon</answer>";
    });
    let last: Promise<Loose[]> | undefined;
    await withServer({ model }, async (_ask, origin) => {
      const first = await connect(origin);
      first.socket.send(JSON.stringify(create));
      await seen.promise;
      first.socket.terminate();
      await aborted.promise;
      const second = await connect(origin);
      last = second.ask(create);
      while (model.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
      setImmediate(go.resolve);
    });
    assert.equal((await last!).at(-1).type, "response.completed");
  });
});

describe("compaction", () => {
  it("makes one sealed item of a conversation, which stands for it later", async () => {
    const model = scriptedModel(good);
    const keys = [{ key: "first-key" }, { key: "other-key" }];
    await withServer({ model, keys }, async (ask) => {
      const mine = { authorization: "Bearer first-key" };
      const input = [
        { role: "user", content: "My name is Eve." },
        { role: "assistant", content: "Hello Eve." },
      ];
      const compact: Loose = await (await ask("/v1/responses/compact", { model: "coa", input }, mine)).json();
      assert.equal(compact.object, "response.compaction");
      assert.equal(compact.output[0].type, "compaction");
      assert.ok(compact.usage.total_tokens > 0);
      const sent = { input: [...compact.output, { role: "user", content: question }] };
      assert.equal((await ask("/v1/responses", sent, mine)).status, 200);
      const told = model.requests[0]!.prompt.slice(1).map(({ content }) => content);
      assert.deepEqual(told, ["My name is Eve.", "Hello Eve.", question]);
      const other = await ask("/v1/responses", sent, { authorization: "Bearer other-key" });
      assert.equal(((await other.json()) as Loose).error.code, "invalid_encrypted_content");
      assert.equal((await ask("/v1/responses/compact", { input }, mine)).status, 400);
    });
  });
});
