import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of a foreign API
type Loose = any;
const body = {
  thinking: { type: "enabled", budget_tokens: 500 },
  model: "coa",
  max_tokens: 1000,
  messages: [{ role: "user", content: "Where does Ada live?" }],
};

describe("messages", () => {
  it("answers whole: roles as one thinking block, the answer as text", async () => {
    await withServer({}, async (ask) => {
      const message: Loose = await (await ask("/v1/messages", body)).json();
      assert.equal(message.type, "message");
      assert.deepEqual(
        message.content.map((block: Loose) => [block.type, block.thinking ?? block.text]),
        [
          ["thinking", "think: look it up\nwiki_search: Ada\nthink: there"],
          ["text", "Lyon"],
        ],
      );
      assert.ok(message.content[0].signature);
      assert.equal(message.stop_reason, "end_turn");
      assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
    });
  });

  it("begins with the answer where thinking was not asked for, whole and streamed", async () => {
    await withServer({}, async (ask) => {
      const { thinking: _, ...plain } = body;
      const message: Loose = await (await ask("/v1/messages", plain)).json();
      assert.deepEqual(message.content, [{ type: "text", text: "Lyon" }]);
      const off = { ...plain, thinking: { type: "disabled" }, stream: true };
      const text = await (await ask("/v1/messages", off)).text();
      assert.doesNotMatch(text, /thinking/);
      assert.match(text, /"text":"Lyon"/);
      const tools = [{ name: "find", input_schema: { type: "object", properties: { q: { type: "string" } } } }];
      const called: Loose = await (await ask("/v1/messages", { ...plain, tools })).json();
      assert.deepEqual(
        called.content.map((block: Loose) => block.type),
        ["text"],
      );
    });
  });

  it("streams blocks whose fold is the whole message, with and without tools shown", async () => {
    for (const showTools of [false, true]) {
      await withServer({ showTools }, async (ask) => {
        const whole: Loose = await (await ask("/v1/messages", body)).json();
        const text = await (await ask("/v1/messages", { ...body, stream: true })).text();
        const events: Loose[] = eventsOf(text).map((one) => JSON.parse(one));
        assert.equal(events[0].type, "message_start");
        assert.equal(events.at(-1).type, "message_stop");
        const blocks: Loose[] = [];
        for (const event of events) {
          if (event.type === "content_block_start") blocks[event.index] = { ...event.content_block };
          if (event.type !== "content_block_delta") continue;
          const { type, ...delta } = event.delta;
          const block = blocks[event.index];
          if (type === "input_json_delta") block.input = JSON.parse(delta.partial_json);
          else for (const [key, value] of Object.entries(delta)) block[key] += value;
        }
        const plain = (content: Loose[]) => content.map(({ signature, id, tool_use_id, ...rest }) => rest);
        assert.deepEqual(plain(blocks), plain(whole.content));
        assert.equal(
          blocks.some((block) => block.type === "mcp_tool_use"),
          showTools,
        );
        const thoughts = blocks.filter((block) => block.type === "thinking").map((block) => block.thinking);
        if (showTools) assert.deepEqual(thoughts, ["think: look it up", "think: there"], "a shown call is no thought");
      });
    }
  });

  it("counts tokens, and refuses in the API's own shape", async () => {
    await withServer({ keys: [{ key: "key-number-one" }] }, async (ask) => {
      const mine = { "x-api-key": "key-number-one" };
      const counted: Loose = await (await ask("/v1/messages/count_tokens", body, mine)).json();
      assert.ok(counted.input_tokens > 0);
      const wrong: Loose = await (await ask("/v1/messages", body)).json();
      assert.deepEqual([wrong.type, wrong.error.type], ["error", "authentication_error"]);
      const missing: Loose = await (await ask("/v1/messages", { ...body, model: "claude" }, mine)).json();
      assert.equal(missing.error.type, "not_found_error");
      const image = [{ role: "user", content: [{ type: "image", source: {} }] }];
      assert.equal((await ask("/v1/messages", { ...body, messages: image }, mine)).status, 400);
    });
    await withServer({ model: scriptedModel([new Error("out of memory")]) }, async (ask) => {
      const text = await (await ask("/v1/messages", { ...body, stream: true })).text();
      assert.match(text, /event: error\ndata: \{"type":"error","error":\{"type":"api_error".*out of memory/);
    });
  });
});
