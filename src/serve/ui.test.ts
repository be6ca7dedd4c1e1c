import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { eventsOf } from "../base/http/server-events.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: parts of a foreign protocol
type Loose = any;
const message = (text: string) => ({ id: "m1", role: "user", parts: [{ type: "text", text }] });
const body = { id: "chat-1", trigger: "submit-message", messages: [message("Where does Ada live?")] };
const partsOf = (text: string): Loose[] =>
  eventsOf(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data));

describe("the UI message stream", () => {
  it("shows roles as reasoning, tools as the provider's own, the answer as text, tokens at the end", async () => {
    await withServer({}, async (ask) => {
      const response = await ask("/api/chat", body);
      assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
      const text = await response.text();
      assert.equal(eventsOf(text).at(-1), "[DONE]");
      const parts = partsOf(text);
      assert.deepEqual(
        parts.filter(({ type }) => type !== "reasoning-delta").map(({ type }) => type),
        [
          ...["start", "start-step", "data-segment", "reasoning-start", "reasoning-end", "data-segment"],
          ...["tool-input-available", "tool-output-available", "data-segment", "reasoning-start", "reasoning-end"],
          ...["text-start", "text-delta", "text-end", "data-usage", "finish-step", "finish"],
        ],
      );
      const call = parts.find(({ type }) => type === "tool-input-available");
      assert.deepEqual([call.toolName, call.providerExecuted, call.dynamic], ["wiki_search", true, true]);
      assert.ok(parts.find(({ type }) => type === "data-usage").data.prompt > 0);
      // Every delta stands between the start and the end of its part.
      const open = new Set<string>();
      for (const { type, id } of parts) {
        if (type.endsWith("-start") && id) open.add(id);
        if (type.endsWith("-delta")) assert.ok(open.has(id));
        if (type.endsWith("-end")) assert.ok(open.delete(id));
      }
    });
  });

  it("can be taken up again while it runs, and says that nothing runs after", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const model = scriptedModel(async (request, call) => {
      if (call === 1) await promise;
      return (good as Loose)(request, call);
    });
    await withServer({ model }, async (ask) => {
      const leaving = await ask("/api/chat", body);
      const reader = leaving.body!.getReader();
      await reader.read();
      await reader.cancel();
      const again = await ask("/api/chat/chat-1/stream");
      assert.equal(again.status, 200);
      resolve();
      const parts = partsOf(await again.text());
      assert.equal(parts[0].type, "start");
      assert.equal(parts.find(({ type }) => type === "text-delta").delta, "Lyon");
      assert.equal((await ask("/api/chat/chat-1/stream")).status, 204);
      assert.equal((await ask("/api/chat/unknown/stream")).status, 204);
    });
  });

  it("tells a failure as a part, and refuses what it can't read", async () => {
    await withServer({ model: scriptedModel(() => new Error("no power")) }, async (ask) => {
      const parts = partsOf(await (await ask("/api/chat", body)).text());
      assert.match(parts.find(({ type }) => type === "error").errorText, /no power/);
    });
    await withServer({}, async (ask) => {
      assert.equal((await ask("/api/chat", { id: "x", messages: [] })).status, 400);
      const file = { id: "m", role: "user", parts: [{ type: "file", mediaType: "image/png", url: "data:," }] };
      assert.equal((await ask("/api/chat", { messages: [file] })).status, 400);
    });
  });
});
