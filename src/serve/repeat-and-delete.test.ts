import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { scriptedModel } from "../testing/index.ts";
import { openKeptChains } from "./kept-chains.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const chat = { messages: [{ role: "user", content: question }] };
const path = "/v1/chat/completions";

describe("a request that is sent again", () => {
  it("is answered once under one idempotency key, whole and streamed, also while it runs", async () => {
    const go = Promise.withResolvers<void>();
    const model = scriptedModel(async (request) => {
      await go.promise;
      return (good as (request: unknown) => string)(request);
    });
    await withServer({ model }, async (ask) => {
      const key = { "idempotency-key": "one" };
      const [first, second] = [ask(path, chat, key), ask(path, chat, key)];
      const streams = [1, 2].map(() => ask(path, { ...chat, stream: true }, { "idempotency-key": "two" }));
      while (model.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
      go.resolve();
      assert.deepEqual(await (await first).json(), await (await second).json());
      assert.equal((await second).headers.get("idempotent-replayed") ?? (await first).headers.get("idempotent-replayed"), "true"); // biome-ignore format: one check
      const chains = [await first, await second].map(({ headers }) => headers.get("x-coa-trajectory"));
      assert.ok(chains[0] !== null && chains[0] === chains[1], "both name the chain");
      const [one, two] = await Promise.all(streams.map(async (stream) => eventsOf(await (await stream).text())));
      assert.deepEqual(one, two);
      assert.equal(one!.at(-1), "[DONE]");
      assert.equal(model.requests.length, 4, "two chains of two calls");
      const other = await ask(path, { ...chat, seed: 3 }, key);
      assert.deepEqual([other.status, ((await other.json()) as Loose).error.code], [409, "idempotency_key_reused"]);
      assert.equal((await ask("/v1/messages", { ...chat, max_tokens: 9 }, key)).status, 200, "keys belong to a route");
    });
  });

  it("is tried again in earnest when the first try failed", async () => {
    const model = scriptedModel([new Error("out of memory"), "<think>t</think><wiki_search>Ada</wiki_search>", "<think>there</think><answer>Lyon</answer>"]); // biome-ignore format: one script
    await withServer({ model }, async (ask) => {
      const key = { "idempotency-key": "one" };
      assert.equal((await ask(path, chat, key)).status, 502);
      assert.equal((await ask(path, chat, key)).status, 200);
    });
  });
});

describe("a kept chain", () => {
  it("holds no token of a text that was redacted, and its file is for its owner only", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-kept-"));
    try {
      const file = join(folder, "kept.jsonl");
      const kept = await openKeptChains(file);
      const chain = (text: string) => {
        const tokens = [...Buffer.from(text)];
        const segment = { tag: "answer", by: "model", text, tokens, logprobs: tokens.map(() => -1) };
        const prompt = [{ role: "user", content: text }];
        return { id: "c", prompt, promptTokens: tokens, segments: [segment], usage: { promptTokens: 5 } } as Loose;
      };
      await kept.append(chain("my key is sk-abcdefghijklmnop1234"));
      await kept.append(chain("Lyon"));
      await kept.close();
      const [secret, plain] = (await readFile(file, "utf8")).split("\n");
      const text = "my key is [redacted]";
      const segments = [{ tag: "answer", by: "model", text }];
      const prompt = [{ role: "user", content: text }];
      assert.deepEqual(JSON.parse(secret!), { id: "c", prompt, segments, usage: { promptTokens: 5 } });
      assert.deepEqual(JSON.parse(plain!), chain("Lyon"));
      assert.equal((await stat(file)).mode & 0o777, 0o600);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("is deleted from the file by its own key, by the id of the chain or of the response", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-kept-"));
    try {
      const file = join(folder, "kept.jsonl");
      const kept = await openKeptChains(file);
      const keys = [{ key: "first-key" }, { key: "other-key" }];
      const waiting: Promise<void>[] = [];
      const onTrajectory = (trajectory: Loose) => void waiting.push(kept.append(trajectory));
      await withServer({ keys, forget: kept.delete, onTrajectory }, async (ask, origin) => {
        const mine = { authorization: "Bearer first-key" };
        const remove = (at: string, key: string) =>
          fetch(`${origin}${at}`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
        const ids = [];
        for (let count = 0; count < 3; count++)
          ids.push((await ask(path, chat, mine)).headers.get("x-coa-trajectory")!);
        const response: Loose = await (await ask("/v1/responses", { input: question }, mine)).json();
        await Promise.all(waiting);
        assert.equal((await remove(`/v1/chains/${ids[1]}`, "other-key")).status, 404);
        assert.equal((await remove(`/v1/chains/${ids[1]}`, "first-key")).status, 200);
        assert.equal((await remove(`/v1/chains/${ids[1]}`, "first-key")).status, 404);
        assert.equal((await remove(`/v1/responses/${response.id}`, "first-key")).status, 200);
        await ask(path, chat, mine);
        await Promise.all(waiting);
        const text = await readFile(file, "utf8");
        const left = text.trim().split("\n").map((line) => JSON.parse(line).id); // biome-ignore format: one list
        assert.deepEqual(left.slice(0, 2), [ids[0], ids[2]]);
        assert.equal(left.length, 3);
      });
      await kept.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("the owner of a kept chain", () => {
  it("is the key that asked, whatever a note of the user's own says", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-owner-"));
    try {
      const file = join(folder, "kept.jsonl");
      const kept = await openKeptChains(file);
      const seen: Trajectory[] = [];
      const keys = [{ key: "first-key" }];
      await withServer({ keys, onTrajectory: (one) => void seen.push(one) }, async (ask) => {
        await ask(path, chat, { authorization: "Bearer first-key" });
      });
      const chain = { ...seen[0]!, meta: { caller: "mallory", owner: "mallory" } };
      const { id, owner } = chain;
      assert.ok(owner !== undefined && owner !== "first-key", "a digest, not the key");
      await kept.append(chain);
      assert.deepEqual([await kept.delete(id, "mallory"), await kept.delete(id, "anyone")], [false, false]);
      assert.equal(await kept.delete(id, owner), true);
      await kept.append({ ...chain, owner: undefined });
      assert.deepEqual([await kept.delete(id, "mallory"), await kept.delete(id, "anyone")], [false, true]);
      await kept.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("POST /v1/chains", () => {
  it("runs a question and continues a trajectory that was cut and edited", async () => {
    for (const tokenizer of [undefined, byteTokenizer()]) {
      const model = scriptedModel(good, { tokenizer });
      await withServer({ model }, async (ask) => {
        const whole: Loose = await (await ask("/v1/chains", { question })).json();
        assert.equal(whole.answer, "Lyon");
        assert.equal((await ask("/v1/chains", { trajectory: whole })).status, 400, "it has ended");
        const edited = { ...whole, segments: whole.segments.slice(0, 3) };
        edited.segments[0] = { tag: "think", text: "I was edited", by: "model" };
        const events = eventsOf(await (await ask("/v1/chains", { trajectory: edited, stream: true })).text());
        const end = JSON.parse(events.at(-2)!);
        assert.equal(end.trajectory.answer, "Lyon");
        assert.equal(end.trajectory.segments.length, 5);
        assert.match(model.requests.at(-1)!.text, /^<think>I was edited<\/think><wiki_search>/);
        if (tokenizer) {
          const written = tokenizer.decode(model.requests.at(-1)!.tokens!);
          assert.ok(written.endsWith(model.requests.at(-1)!.text));
          const lied = { ...whole, segments: [{ ...whole.segments[0], tokens: [1, 2, 9e9] }] };
          assert.equal((await ask("/v1/chains", { trajectory: lied })).status, 200, "foreign tokens are not believed");
        }
        for (const wrong of [{}, { trajectory: {} }, { trajectory: 3 }])
          assert.equal((await ask("/v1/chains", wrong)).status, 400);
      });
    }
  });
});
