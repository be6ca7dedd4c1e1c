import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryJournal } from "../core/journal.ts";
import type { ChatModel } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { chainSystem } from "../evaluate/chain-system.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { type CachedCall, cachedChatModel, cachedModel, cachedTools, openCallCache } from "./call-cache.ts";

const context = { signal: new AbortController().signal };

describe("openCallCache", () => {
  const lines = ["<plan>p</plan><think>t</think><wiki_search>capital", "<think>t</think><answer>Paris</answer>"];
  const system = (model: ReturnType<typeof scriptedModel>, tools: Tool[]) =>
    chainSystem({ name: "s", model, tools, profile: mhqaProfile, clock: () => 0 });

  it("lets a chain run again with no model and no tool, to the same trajectory", async () => {
    const journal = memoryJournal<CachedCall>();
    const cache = await openCallCache(journal);
    const model = scriptedModel(lines.map((line) => (line.includes("wiki") ? `${line}</wiki_search>` : line)));
    const tool = tableTool({ capital: "It is Paris." }, "wiki_search");
    const task = defineTask({ id: "t", question: "q", answers: ["Paris"] });
    const options = { sample: 0, seed: 5 };
    const first = await system(cachedModel(model, cache) as never, cachedTools([tool], cache)).run(task, options);
    assert.equal(first.answer, "Paris");
    const again = await openCallCache(memoryJournal(journal.records), { only: true });
    const broken = scriptedModel(() => new Error("there is no model"));
    const second = await system(
      cachedModel(broken, again) as never,
      cachedTools([{ ...tool, execute: () => assert.fail() }], again),
    ).run(task, options);
    assert.deepEqual(second, first);
    assert.equal(again.misses, 0);
    const other = await system(cachedModel(broken, again) as never, cachedTools([tool], again)).run(task, {
      ...options,
      seed: 6,
    });
    assert.equal(other.ending.reason, "error");
    assert.match(other.ending.detail ?? "", /no kept call/);
  });

  it("asks once for equal calls under way and keeps no failure", async () => {
    let calls = 0;
    const model: ChatModel = {
      name: "m",
      async chat() {
        if (++calls === 1) throw new Error("503");
        return { text: String(calls), toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
      },
    };
    const cached = cachedChatModel(model, await openCallCache(memoryJournal()));
    const request = { messages: [{ role: "user" as const, content: "hi" }] };
    await assert.rejects(cached.chat(request), /503/);
    const replies = await Promise.all([cached.chat(request), cached.chat(request), cached.chat(request)]);
    assert.deepEqual(
      replies.map(({ text }) => text),
      ["2", "2", "2"],
    );
    assert.equal(calls, 2);
  });

  it("keeps each call of a stateful tool apart", async () => {
    let count = 0;
    const tool: Tool = {
      name: "counter",
      description: "",
      inputSchema: { type: "object" },
      stateful: true,
      execute: () => ++count,
    };
    const journal = memoryJournal<CachedCall>();
    const run = async (cache: Awaited<ReturnType<typeof openCallCache>>) => {
      const [cached] = cachedTools([tool], cache);
      const inRun = { ...context, trajectoryId: "x" };
      return [await cached!.execute({}, inRun), await cached!.execute({}, inRun)];
    };
    assert.deepEqual(await run(await openCallCache(journal)), [1, 2]);
    assert.deepEqual(await run(await openCallCache(journal, { only: true })), [1, 2]);
  });
});
