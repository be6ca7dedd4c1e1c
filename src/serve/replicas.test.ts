/** Several servers over one store: what one of them does, each of them knows; what one leaves, another ends. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { noPostgres, startPostgres } from "../../test/fixtures/postgres.ts";
import { adaHandler, good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { scriptedModel } from "../testing/index.ts";
import type { ChainHandlerOptions } from "./chain-handler.ts";
import { openServeStore, type ServeStoreOptions } from "./store/open-store.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
type Ask = Parameters<Parameters<typeof withServer>[1]>[0];
const question = "Where does Ada live?";
const never = new Promise<never>(() => {});

let folder = "";
let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-replicas-"));
  if (!noPostgres) postgres = await startPostgres();
});
after(async () => {
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

const places: Record<string, { skip: string | false; place(): string }> = {
  SQLite: { skip: false, place: () => join(folder, String(Math.random()).slice(2)) },
  PostgreSQL: { skip: noPostgres, place: () => postgres!.database() },
};

/** A server over the store of a place. */
async function withReplica(
  place: string,
  use: (ask: Ask, origin: string) => Promise<void>,
  { leaseMs, ...options }: Partial<ChainHandlerOptions> & ServeStoreOptions = {},
): Promise<void> {
  const store = await openServeStore(place, { leaseMs });
  try {
    await withServer({ store, ...options }, use);
  } finally {
    await store.close();
  }
}

const json = async (reply: Promise<Response>): Promise<Loose> => (await reply).json();

/** Asks until a response has this status. */
async function until(ask: Ask, id: string, status: string): Promise<Loose> {
  for (;;) {
    const response = await json(ask(`/v1/responses/${id}`));
    if (response.status === status) return response;
    assert.ok(["queued", "in_progress"].includes(response.status), JSON.stringify(response));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

for (const [name, { skip, place }] of Object.entries(places)) {
  describe(`servers that share a store in ${name}`, { skip }, () => {
    it("continue, show, cancel and delete each other's responses", async () => {
      const at = place();
      const go = Promise.withResolvers<void>();
      const model = scriptedModel(async (request) => {
        const aborted = new Promise((_, reject) => request.signal?.addEventListener("abort", reject));
        await Promise.race([go.promise, aborted]);
        return (good as Loose)(request);
      });
      await withReplica(
        at,
        async (one) => {
          await withReplica(at, async (two, origin) => {
            const background = { input: question, background: true };
            const cancelled = await json(one("/v1/responses", background));
            assert.equal((await json(two(`/v1/responses/${cancelled.id}/cancel`, {}))).status, "cancelled");
            assert.equal((await json(one(`/v1/responses/${cancelled.id}`))).status, "cancelled");
            const { id } = await json(one("/v1/responses", background));
            assert.ok(["queued", "in_progress"].includes((await json(two(`/v1/responses/${id}`))).status));
            const streamed = two(`/v1/responses/${id}?stream=true`);
            go.resolve();
            const events = eventsOf(await (await streamed).text());
            assert.equal(events.at(-1), "[DONE]");
            const last = JSON.parse(events.at(-2)!);
            assert.equal(last.type, "response.completed");
            assert.deepEqual(await json(two(`/v1/responses/${id}`)), last.response);
            const rest = eventsOf(await (await two(`/v1/responses/${id}?stream=true&starting_after=2`)).text());
            assert.deepEqual(rest, events.slice(3));
            const next = await json(two("/v1/responses", { input: "And now?", previous_response_id: id }));
            assert.equal(next.output.at(-1).content[0].text, "Lyon");
            assert.equal((await fetch(`${origin}/v1/responses/${next.id}`, { method: "DELETE" })).status, 200);
            assert.equal((await one(`/v1/responses/${next.id}`)).status, 404);
          });
        },
        { model },
      );
    });

    it("end what a server left that was stopped, after it or beside it", async () => {
      const at = place();
      const store = await openServeStore(at);
      const aborted = AbortSignal.abort();
      const model = scriptedModel(
        (request) => new Promise((_, reject) => request.signal?.addEventListener("abort", reject)),
      );
      const stopped = await adaHandler({ model, store });
      const body = JSON.stringify({ input: question, background: true });
      const made = await stopped.fetch(new Request("http://127.0.0.1/v1/responses", { method: "POST", body }));
      const id = ((await made.json()) as Loose).id;
      // Its first events are stored beside the call of the model, and may be later.
      while (model.requests.length === 0 || (await store.runs.events(id, 0)).events.length === 0)
        await new Promise((resolve) => setImmediate(resolve));
      await stopped.settle!(aborted);
      assert.ok(
        ["queued", "in_progress"].includes(String((await store.responses.find(id, "anyone"))?.response["status"])),
      );
      await store.close();
      const options = { name: model.name, leaseMs: 1000 };
      await withReplica(
        at,
        async (ask) => {
          const response = await until(ask, id, "completed");
          assert.equal(response.id, id);
          const events = eventsOf(await (await ask(`/v1/responses/${id}?stream=true`)).text()).slice(0, -1);
          const read: Loose[] = events.map((event) => JSON.parse(event));
          assert.deepEqual(
            read.map((event) => event.sequence_number),
            [...read.keys()],
          );
          assert.equal(read.filter((event) => event.type === "response.created").length, 2, "it was begun twice");
        },
        options,
      );
    });

    it("count rates and budgets together, also after a restart", async () => {
      const at = place();
      const keys = [
        { key: "key-of-anna", requestsPerMinute: 5 },
        { key: "key-of-bert", maxTokensPerDay: 1 },
        { key: "key-of-cleo", maxUsdPerMonth: 1 },
      ];
      const by = (name: string) => ({ authorization: `Bearer key-of-${name}` });
      const chat = { messages: [{ role: "user", content: question }] };
      const refused = async (ask: Ask, name: string): Promise<Loose> => {
        const reply = await ask("/v1/chat/completions", chat, by(name));
        return reply.status === 429 ? ((await reply.json()) as Loose).error : reply.status;
      };
      await withReplica(at, (one) => withReplica(at, async (two) => {
        const asked = Array.from({ length: 24 }, (_, index) => [one, two][index % 2]!("/v1/models", undefined, by("anna")));
        const ok = (await Promise.all(asked)).filter((reply) => reply.ok);
        // A minute may end meanwhile.
        assert.ok(ok.length === 5 || ok.length === 10, `${ok.length} were let in`);
        assert.equal(ok[0]!.headers.get("x-ratelimit-limit-requests"), "5");
        assert.equal(await refused(one, "bert"), 200);
        assert.match((await refused(two, "bert")).message, /budget of this key for this day/);
        assert.equal(await refused(two, "cleo"), 200, "this model costs nothing");
      }, { keys }), { keys }); // biome-ignore format: two servers
      await withReplica(at, async (one) => assert.equal((await refused(one, "bert")).code, "insufficient_quota"), {
        keys,
      });
    });

    it("answer a request once under one idempotency key, also when its first client leaves or its server is killed", async () => {
      const at = place();
      const go = Promise.withResolvers<void>();
      const model = scriptedModel(async (request) => {
        const left = new Promise((_, reject) => request.signal?.addEventListener("abort", reject));
        await Promise.race([go.promise, left]);
        return (good as Loose)(request);
      });
      const path = "/v1/responses";
      const sent = { input: question, stream: true };
      const key = { "idempotency-key": "one" };
      const idle = scriptedModel(good);
      await withReplica(at, (one, origin) => withReplica(at, async (two) => {
        const leaving = new AbortController();
        const headers = { "content-type": "application/json", ...key };
        const init = { method: "POST", headers, body: JSON.stringify(sent), signal: leaving.signal };
        const first = fetch(origin + path, init).then((reply) => reply.text());
        while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
        const [here, there] = [one(path, sent, key), two(path, sent, key)];
        assert.equal((await two(path, { ...sent, temperature: 1 }, key)).status, 409);
        await here; // the second client reads when the first leaves
        leaving.abort();
        await assert.rejects(first);
        go.resolve();
        const texts = await Promise.all([here, there].map(async (reply) => (await reply).text()));
        assert.equal(eventsOf(texts[0]!).at(-1), "[DONE]");
        assert.equal(texts[0], texts[1]);
        assert.deepEqual([model.requests.length, idle.requests.length], [2, 0], "one chain of two calls");
        assert.equal((await two(path, sent, key)).headers.get("idempotent-replayed"), "true");
      }, { model: idle }), { model }); // biome-ignore format: two servers
      const store = await openServeStore(at, { leaseMs: 500 });
      const hangs = scriptedModel(() => never);
      const killed = await adaHandler({ model: hangs, store });
      const body = JSON.stringify({ input: question });
      const lost = new Request(`http://127.0.0.1${path}`, {
        method: "POST",
        body,
        headers: { "idempotency-key": "two" },
      });
      void killed.fetch(lost);
      while (hangs.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await store.close();
      await withReplica(at, async (ask) => {
        assert.equal((await ask(path, body, { "idempotency-key": "two" })).status, 200);
      });
    });

    it("give up what has stopped three servers", async () => {
      const at = place();
      let id = "";
      const hangs = () => scriptedModel(() => never);
      for (let server = 1; server <= 3; server++) {
        // A server that is killed: its store is closed while it runs the response.
        const store = await openServeStore(at, { leaseMs: 500 });
        const model = hangs();
        const killed = await adaHandler({ model, store, name: "m" });
        if (server === 1) {
          const body = JSON.stringify({ input: question, background: true });
          const made = await killed.fetch(new Request("http://127.0.0.1/v1/responses", { method: "POST", body }));
          id = ((await made.json()) as Loose).id;
        }
        while (model.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await store.close();
      }
      await withReplica(
        at,
        async (ask) => {
          const failed = await until(ask, id, "failed");
          assert.match(failed.error.message, /3 servers stopped/);
        },
        { name: "m", leaseMs: 500 },
      );
    });
  });
}

describe("a deleted response", () => {
  it("is gone from the file of the store, also where it was kept for an idempotency key or ran in the background", async () => {
    const at = join(folder, "deleted");
    const model = scriptedModel((request) => (good as Loose)(request).replace("there", "secret-of-ada"));
    const store = await openServeStore(at);
    await withServer({ store, model }, async (ask, origin) => {
      const remove = async (id: string) =>
        assert.equal((await fetch(`${origin}/v1/responses/${id}`, { method: "DELETE" })).status, 200);
      const sent = { input: question };
      const first = await json(ask("/v1/responses", sent, { "idempotency-key": "one" }));
      const second = await json(ask("/v1/responses", { ...sent, background: true }));
      await until(ask, second.id, "completed");
      for (const { id } of [first, second]) await remove(id);
      for (const name of await readdir(at))
        assert.ok(!(await readFile(join(at, name))).includes("secret-of-ada"), `${name} holds what was deleted`);
      const again = await json(ask("/v1/responses", sent, { "idempotency-key": "one" }));
      assert.notEqual(again.id, first.id);
    });
    await store.close();
  });
});

describe("responses in the background", () => {
  it("wait in the store for a place when the queue of the server is full", async () => {
    await withServer({ maxChains: 1, maxQueue: 1 }, async (ask) => {
      const sent = Array.from({ length: 8 }, () => json(ask("/v1/responses", { input: question, background: true })));
      for (const { id } of await Promise.all(sent)) await until(ask, id, "completed");
    });
  });
});

describe("a response that does not end well", () => {
  it("is stored as failed or cancelled", async () => {
    await withServer({ model: scriptedModel([new Error("out of memory")]) }, async (ask) => {
      const events = eventsOf(await (await ask("/v1/responses", { input: question, stream: true })).text());
      const { id } = JSON.parse(events[0]!).response;
      const stored = await json(ask(`/v1/responses/${id}`));
      assert.equal(stored.status, "failed");
      assert.match(stored.error.message, /out of memory/);
    });
    const model = scriptedModel(
      (request) => new Promise((_, reject) => request.signal?.addEventListener("abort", reject)),
    );
    await withServer({ model }, async (ask, origin) => {
      const left = new AbortController();
      const body = JSON.stringify({ input: question, stream: true });
      const reply = await fetch(`${origin}/v1/responses`, { method: "POST", body, signal: left.signal });
      const first = new TextDecoder().decode((await reply.body!.getReader().read()).value);
      const { id } = JSON.parse(eventsOf(first)[0]!).response;
      left.abort();
      for (;;) {
        const found = await ask(`/v1/responses/${id}`);
        if (found.status === 404) continue;
        assert.equal(((await found.json()) as Loose).status, "cancelled");
        break;
      }
    });
  });
});
