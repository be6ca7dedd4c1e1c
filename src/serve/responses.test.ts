import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { scriptedModel } from "../testing/index.ts";
import { openServeStore } from "./store/open-store.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
const question = "Where does Ada live?";

const requiredFields =
  "id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier prompt_cache_key".split(
    " ",
  );

/** The events of a stream, checked for what the specification demands of every stream. */
function readStream(text: string): Loose[] {
  const names = [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1]);
  const data = eventsOf(text);
  assert.equal(data.at(-1), "[DONE]");
  const events: Loose[] = data.slice(0, -1).map((one) => JSON.parse(one));
  assert.deepEqual(
    names,
    events.map((event) => event.type),
  );
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    [...events.keys()],
  );
  return events;
}

describe("responses", () => {
  it("answers whole: every field, roles as summaries, the answer as a message", async () => {
    await withServer({}, async (ask) => {
      const response: Loose = await (await ask("/v1/responses", { model: "coa", input: question })).json();
      for (const field of requiredFields) assert.ok(field in response, field);
      assert.equal(response.status, "completed");
      const [reasoning, message] = response.output;
      assert.deepEqual(
        reasoning.summary.map((part: Loose) => part.text),
        ["**think**\nlook it up", "**wiki_search**\nAda", "**observation**\nAda lives in Lyon.", "**think**\nthere"],
      );
      assert.equal(message.content[0].text, "Lyon");
      assert.equal(message.phase, "final_answer");
      assert.match(response.metadata.coa_trajectory_id, /^chain_/);
    });
  });

  it("streams events whose fold is the whole response", async () => {
    await withServer({}, async (ask) => {
      for (const tools of [[], [{ type: "mcp", server_label: "coa" }]]) {
        const sent = await ask("/v1/responses", { input: question, stream: true, tools });
        const events = readStream(await sent.text());
        const { response } = events.at(-1);
        assert.equal(events.at(-1).type, "response.completed");
        assert.deepEqual(
          events.filter((event) => event.type === "response.output_item.done").map((event) => event.item),
          response.output,
        );
        const deltas = events.filter((event) => event.type === "response.reasoning_summary_text.delta");
        const said = response.output
          .filter((item: Loose) => item.type === "reasoning")
          .flatMap((item: Loose) => item.summary.map((part: Loose) => part.text));
        assert.equal(deltas.map((event) => event.delta).join(""), said.join(""));
        const call = response.output.find((item: Loose) => item.type === "mcp_call");
        if (tools.length === 0) assert.equal(call, undefined);
        else
          assert.deepEqual([call.name, call.output, call.status], ["wiki_search", "Ada lives in Lyon.", "completed"]);
      }
    });
  });

  it("keeps what it said: by id, as a conversation, item by item, also after a restart", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-responses-"));
    try {
      let first: Loose;
      const store = await openServeStore(folder);
      await withServer({ store }, async (ask) => {
        first = await (await ask("/v1/responses", { input: question })).json();
      });
      await store.close();
      const again = await openServeStore(folder);
      const model = scriptedModel(good);
      await withServer({ store: again, model }, async (ask, origin) => {
        assert.deepEqual(await (await ask(`/v1/responses/${first.id}`)).json(), first);
        const items: Loose = await (await ask(`/v1/responses/${first.id}/input_items`)).json();
        assert.equal(items.data[0].content[0].text, question);
        await (await ask("/v1/responses", { input: "And now?", previous_response_id: first.id })).json();
        const told = model.requests[0]!.prompt.slice(1).map(({ role, content }) => `${role}: ${content}`);
        const found = "<wiki_search>Ada</wiki_search>\n<observation>\nAda lives in Lyon.\n</observation>\n\n";
        assert.deepEqual(told, [`user: ${question}`, `assistant: ${found}<answer>Lyon</answer>`, "user: And now?"]);
        const reference = { type: "item_reference", id: first.output.at(-1).id };
        const input = [reference, { role: "user", content: "And then?" }];
        assert.equal((await ask("/v1/responses", { input })).status, 200);
        assert.equal((await ask("/v1/responses", { input: [{ type: "item_reference", id: "msg_none" }] })).status, 404);
        const missing = await ask("/v1/responses", { input: "x", previous_response_id: "resp_none" });
        assert.equal(((await missing.json()) as Loose).error.code, "previous_response_not_found");
        const deleted = await fetch(`${origin}/v1/responses/${first.id}`, { method: "DELETE" });
        assert.equal(((await deleted.json()) as Loose).deleted, true);
        assert.equal((await ask(`/v1/responses/${first.id}`)).status, 404);
        const fleeting: Loose = await (await ask("/v1/responses", { input: question, store: false })).json();
        assert.equal((await ask(`/v1/responses/${fleeting.id}`)).status, 404);
      });
      await again.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("gives a response to its own key alone", async () => {
    const keys = [{ key: "first-key" }, { key: "other-key" }];
    await withServer({ keys }, async (ask) => {
      const mine = { authorization: "Bearer first-key" };
      const made: Loose = await (await ask("/v1/responses", { input: question }, mine)).json();
      assert.equal((await ask(`/v1/responses/${made.id}`, undefined, mine)).status, 200);
      const named = [{ id: "m1", role: "user", content: question }];
      const others = { authorization: "Bearer other-key" };
      for (const key of [mine, others]) assert.equal((await ask("/v1/responses", { input: named }, key)).status, 200);
      const again = { input: [{ type: "item_reference", id: "m1" }], previous_response_id: made.id };
      assert.equal((await ask("/v1/responses", again, mine)).status, 200, "another key's item has the same name");
      assert.equal((await ask("/v1/responses", again, others)).status, 404);
      assert.equal(
        (await ask(`/v1/responses/${made.id}`, undefined, { authorization: "Bearer other-key" })).status,
        404,
      );
    });
  });

  it("lets what runs in the background end when the server is stopped", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-responses-"));
    try {
      const store = await openServeStore(folder);
      let id = "";
      const go = Promise.withResolvers<void>();
      const model = scriptedModel(async (request) => go.promise.then(() => (good as Loose)(request)));
      await withServer({ store, model }, async (ask) => {
        id = ((await (await ask("/v1/responses", { input: question, background: true })).json()) as Loose).id;
        assert.equal((await ask(`/v1/responses/${id}?stream=true&starting_after=x`)).status, 400);
        setImmediate(go.resolve); // the server is being stopped by then
      });
      assert.equal((await store.responses.find(id, "anyone"))?.response["status"], "completed");
      await store.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("runs in the background: polled, streamed from any event, cancelled", async () => {
    const go = Promise.withResolvers<void>();
    const model = scriptedModel(async (request) => {
      await Promise.race([go.promise, new Promise((_, reject) => request.signal?.addEventListener("abort", reject))]);
      return (good as (request: unknown) => string)(request);
    });
    await withServer({ model }, async (ask) => {
      const queued: Loose = await (await ask("/v1/responses", { input: question, background: true })).json();
      assert.equal(queued.status, "queued");
      const other: Loose = await (await ask("/v1/responses", { input: question, background: true })).json();
      while (model.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
      const cancelled: Loose = await (await ask(`/v1/responses/${other.id}/cancel`, {})).json();
      assert.equal(cancelled.status, "cancelled");
      const next = { input: "and then?", previous_response_id: queued.id };
      const early = await ask("/v1/responses", next);
      assert.deepEqual([early.status, ((await early.json()) as Loose).error.code], [400, "previous_response_running"]);
      const streaming = ask(`/v1/responses/${queued.id}?stream=true`);
      go.resolve();
      const all = readStream(await (await streaming).text());
      assert.equal(all.at(-1).type, "response.completed");
      const rest = await (await ask(`/v1/responses/${queued.id}?stream=true&starting_after=3`)).text();
      assert.deepEqual(
        eventsOf(rest)
          .slice(0, -1)
          .map((one) => JSON.parse(one)),
        all.slice(4),
      );
      assert.equal(((await (await ask(`/v1/responses/${queued.id}`)).json()) as Loose).status, "completed");
      assert.equal((await ask("/v1/responses", next)).status, 200);
    });
  });

  it("ends a failed stream with an error and response.failed", async () => {
    await withServer({ model: scriptedModel([new Error("out of memory")]) }, async (ask) => {
      const events = readStream(await (await ask("/v1/responses", { input: question, stream: true })).text());
      assert.deepEqual(
        events.slice(-2).map((event) => event.type),
        ["error", "response.failed"],
      );
      assert.match(events.at(-1).response.error.message, /out of memory/);
    });
  });

  it("repeats the tools of a request with every field that the specification demands", async () => {
    await withServer({}, async (ask) => {
      const tools = [{ type: "function", name: "f" }];
      const response: Loose = await (await ask("/v1/responses", { input: question, tools })).json();
      assert.deepEqual(response.tools, [
        { type: "function", name: "f", description: null, parameters: null, strict: null },
      ]);
    });
  });

  it("leaves images out only where the server was told so, and refuses them otherwise", async () => {
    const content = [{ type: "input_text", text: question }, { type: "input_image", image_url: "data:image/png;base64,AA" }]; // biome-ignore format: one message
    const sent = { input: [{ role: "user", content }] };
    await withServer({}, async (ask) => {
      assert.equal(((await (await ask("/v1/responses", sent)).json()) as Loose).error.code, "unsupported_media");
    });
    await withServer({ media: "ignore" }, async (ask) => {
      assert.equal(((await (await ask("/v1/responses", sent)).json()) as Loose).status, "completed");
    });
  });

  it("says that it was cut at a limit", async () => {
    await withServer({ model: scriptedModel(() => "<think>and on it goes") }, async (ask) => {
      const sent = { input: question, max_output_tokens: 3 };
      const response: Loose = await (await ask("/v1/responses", sent)).json();
      assert.equal(response.status, "incomplete");
      assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
    });
  });

  it("refuses what it does not serve", async () => {
    await withServer({}, async (ask) => {
      const refused = async (sent: object) => ((await (await ask("/v1/responses", sent)).json()) as Loose).error.code;
      const tools = [{ type: "function", name: "f", parameters: { type: "string" } }];
      assert.equal(await refused({ input: question, tools }), "invalid_tool");
      const text = { format: { type: "json_schema", name: "x", schema: {} } };
      assert.equal(await refused({ input: question, text }), "unsupported_format");
      assert.equal(await refused({ input: question, model: "gpt-9" }), "model_not_found");
      assert.equal((await ask("/v1/responses", {})).status, 400);
    });
  });
});
