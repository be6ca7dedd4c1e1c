import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { most } from "../core/budget.ts";
import type { Model } from "../core/model.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const chat = { messages: [{ role: "user", content: "Where does Ada live?" }] };
const path = "/v1/chat/completions";
const as = (key: string) => ({ authorization: `Bearer ${key}` });
const keys = [{ key: "key-of-anna" }, { key: "key-of-bert" }];

/** A model that writes a piece and then nothing until its caller leaves. */
function stalling(begun: () => void): Model {
  const tokenizer = byteTokenizer();
  return {
    ...scriptedModel(good, { tokenizer }),
    async *continue({ signal }) {
      const tokens = tokenizer.encode("<think>so far");
      yield { type: "delta", text: "<think>so far", tokens, logprobs: tokens.map(() => -1) };
      begun();
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    },
  };
}

describe("limits of a key", () => {
  it("are not raised by a usage below zero in a trajectory that a client sends", async () => {
    await withServer({ defaults: { limits: { maxSteps: 1, answerReserve: 0 } } }, async (ask) => {
      const ended: Loose = await (await ask("/v1/chains", { question: "Where does Ada live?" })).json();
      assert.equal(ended.ending.reason, "limit");
      const forged = { ...ended, usage: { ...ended.usage, modelCalls: -200 } };
      const refused = await ask("/v1/chains", { trajectory: forged });
      assert.equal(refused.status, 400, await refused.text());
    });
  });

  it("are reserved by what runs: requests sent together go over the budget by one at most", async () => {
    const spends = 1000;
    const gate = Promise.withResolvers<void>();
    const model: Model = {
      ...scriptedModel(good),
      async *continue() {
        await gate.promise;
        yield { type: "delta", text: "<think>so</think><answer>Lyon</answer>" };
        yield { type: "end", finish: "stop", usage: { promptTokens: spends - 10, completionTokens: 10 } };
      },
    };
    const limited = [{ key: "key-of-anna", maxTokens: 3 * spends + 1 }];
    const defaults = { enforcement: "report" as const };
    await withServer({ keys: limited, model, maxChains: 64, defaults }, async (ask) => {
      let refused = 0;
      const one = async () => {
        const { status } = await ask(path, chat, as("key-of-anna"));
        if (status === 429 && ++refused === 36) gate.resolve(); // those that were let in end when the others were answered
        return status;
      };
      const statuses = (count: number) => Promise.all(Array.from({ length: count }, one));
      const ok = (all: number[]) => all.filter((status) => status === 200).length;
      const together = await statuses(40);
      assert.equal(ok(together), 4, "one may cross the line");
      assert.ok(together.every((status) => status === 200 || status === 429));
      const over = await ask(path, chat, as("key-of-anna"));
      assert.equal(((await over.json()) as Loose).error.code, "insufficient_quota");
    });
  });

  it("count a call that its client cut off, of a chain and of the bare model", async () => {
    for (const [route, body] of [
      [path, chat],
      ["/v1/completions", { prompt: "Where does Ada live?", stream: true }],
    ] as const) {
      const begun = Promise.withResolvers<void>();
      const limited = [{ key: "key-of-anna", maxTokens: 20 }];
      await withServer({ keys: limited, model: stalling(begun.resolve) }, async (ask, origin) => {
        const leaving = new AbortController();
        const headers = { "content-type": "application/json", ...as("key-of-anna") };
        const init = { method: "POST", headers, body: JSON.stringify(body), signal: leaving.signal };
        const cut = fetch(origin + route, init).then((answer) => answer.text());
        await begun.promise;
        leaving.abort();
        await assert.rejects(cut);
        let status = 200;
        for (let tries = 0; status !== 429 && tries < 1000; tries++) {
          status = (await ask("/v1/models", undefined, as("key-of-anna"))).status;
        }
        assert.equal(status, 429, `${route} was not counted`);
      });
    }
  });

  it("share the places and the queue: a key that fills it leaves room for the next, whose turn comes first", async () => {
    const gates: (() => void)[] = [];
    const order: string[] = [];
    const model = scriptedModel(async (request) => {
      order.push(/Anna|Bert/.exec(JSON.stringify(request.prompt))![0]);
      await new Promise<void>((go) => gates.push(go));
      return "<think>t</think><answer>Lyon</answer>";
    });
    const defaults = { enforcement: "report" as const };
    await withServer({ keys, model, defaults, maxChains: 1, maxQueue: 3 }, async (ask) => {
      const by = (who: "Anna" | "Bert") =>
        ask(path, { messages: [{ role: "user", content: `${who} asks` }] }, as(`key-of-${who.toLowerCase()}`));
      const waiting = async (count: number) => {
        const page = async () => (await ask("/metrics", undefined, as("key-of-anna"))).text();
        while (!(await page()).includes(`coa_chains_waiting ${count}\n`));
      };
      const answers = [by("Anna")];
      while (gates.length === 0) await new Promise((resolve) => setImmediate(resolve));
      for (let count = 1; count <= 3; count++) {
        answers.push(by("Anna"));
        await waiting(count);
      }
      assert.equal((await by("Anna")).status, 429);
      answers.push(by("Bert"));
      await waiting(4);
      let open = 0;
      const done = Promise.all(answers).then((all) => all.map(({ status }) => status));
      while (open < 5) {
        while (gates.length === open) await new Promise((resolve) => setImmediate(resolve));
        gates[open++]!();
      }
      assert.deepEqual(await done, [200, 200, 200, 200, 200]);
      assert.deepEqual(order, ["Anna", "Bert", "Anna", "Anna", "Anna"]);
    });
  });

  it("count each message of an MCP batch, and a batch has an end", async () => {
    const limited = [{ key: "key-of-anna", requestsPerMinute: 3 }];
    const batch = (count: number) =>
      Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id, method: "tools/list", params: {} }));
    await withServer({ keys: limited }, async (ask) => {
      const headers = { ...as("key-of-anna"), accept: "application/json, text/event-stream" };
      assert.equal((await ask("/mcp", batch(most.batch + 1), headers)).status, 400);
      assert.equal((await ask("/mcp", batch(4), headers)).status, 429);
    });
  });
});

describe("idempotency keys", () => {
  it("are bounded in length, and what was refused is tried again", async () => {
    await withServer({}, async (ask) => {
      assert.equal((await ask(path, chat, { "idempotency-key": "k".repeat(257) })).status, 400);
      const mcp = { accept: "application/json, text/event-stream", "idempotency-key": "one" };
      const sent = () => ask("/mcp", { jsonrpc: "1.0", nothing: true }, mcp);
      assert.equal((await sent()).status, 400);
      const again = await sent();
      assert.deepEqual([again.status, again.headers.get("idempotent-replayed")], [400, null]);
    });
  });
});
