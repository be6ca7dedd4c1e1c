import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openCallStore } from "../base/files/call-store.ts";
import { limitedModel } from "../base/work/limited-model.ts";
import { semaphore } from "../base/work/limiter.ts";
import { wrapModel } from "../base/work/wrap-model.ts";
import { runChain } from "../chain/run-chain.ts";
import type { ChatModel, Model } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { chainSystem } from "../evaluate/chain-system.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel, startModelServer, tableTool } from "../testing/index.ts";
import { cachedModel, cachedTools, openReplayModel } from "./cached-model.ts";
import { openaiCompatible } from "./openai-compatible.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-wrappers-"));
after(() => rm(folder, { recursive: true, force: true }));
const task = defineTask({ id: "t", question: "q", answers: ["Paris"] });
const script = ["<think>t</think><wiki_search>capital</wiki_search>", "<think>t</think><answer>Paris</answer>"];
const table = (answer = "It is Paris.") => tableTool({ capital: answer }, "wiki_search");
const run = (model: Model, answer?: string) =>
  runChain(task, { model, tools: [table(answer)], profile: mhqaProfile, id: "same" });

function chatty(): ChatModel {
  let said = 0;
  return {
    name: "m",
    async chat() {
      return {
        text: `reply ${++said}`,
        toolCalls: [],
        finish: "stop",
        usage: { promptTokens: 1, completionTokens: 1 },
      };
    },
  };
}

describe("wrapModel", () => {
  it("changes what a model can do, and keeps what the model learns of the rest", async () => {
    const server = await startModelServer({
      answer: () => "",
      models: { data: [{ id: "learned", owned_by: "vllm", max_model_len: 4096 }] },
    });
    const model = openaiCompatible({ baseURL: server.url });
    const narrow = wrapModel(model, { capabilities: (own) => ({ ...own, contextWindow: 512 }) });
    assert.equal(narrow.capabilities.grammar, model.capabilities.grammar);
    await narrow.prepare();
    assert.deepEqual(narrow.capabilities, { tokens: false, grammar: "none", contextWindow: 512 });
    assert.equal(model.capabilities.contextWindow, 4096);
    await narrow.close();
    await server.close();
  });

  it("keeps what the model learns in prepare: name, context window, grammar", async () => {
    const server = await startModelServer({
      answer: () => "",
      models: { data: [{ id: "learned", owned_by: "vllm", max_model_len: 4096 }] },
    });
    const model = openaiCompatible({ baseURL: server.url });
    const places = semaphore(1);
    const wrapped = cachedModel(limitedModel(wrapModel(model, {}), places), await openCallStore());
    assert.equal(wrapped.capabilities.contextWindow, undefined);
    await wrapped.prepare();
    assert.deepEqual(wrapped.capabilities, { tokens: false, grammar: "none", contextWindow: 4096 });
    assert.equal(wrapped.name, "learned");
    assert.equal(wrapped.mode, "continue");
    await wrapped.close();
    await server.close();
  });

  it("leaves absent what the model does not have, and calls methods on the model itself", () => {
    class Private {
      readonly name = "p";
      #count = 3;
      countTokens(text: string) {
        return text.length * this.#count;
      }
      chat = chatty().chat;
    }
    const wrapped = limitedModel(Object.freeze(new Private()), semaphore(1));
    assert.equal(wrapped.countTokens("ab"), 6);
    assert.equal(wrapped.countTokens, wrapped.countTokens);
    assert.equal("continue" in wrapped, false);
    assert.equal((wrapped as Partial<Model>).continue, undefined);
    assert.equal((wrapped as Partial<Model>).endSession, undefined);
  });
});

describe("recorded calls", () => {
  it("replay a chain without the model", async () => {
    const file = join(folder, "a.jsonl");
    const store = await openCallStore(file, { mode: "record" });
    const recorded = await run(cachedModel(scriptedModel(script), store));
    await store.close();
    const replay = await openReplayModel(file, "scripted");
    const replayed = await run(replay);
    const texts = (one: typeof recorded) => one.segments.map(({ text }) => text);
    assert.deepEqual(texts(replayed), texts(recorded));
    assert.deepEqual({ ...replayed.usage, wallMs: 0, toolMs: 0 }, { ...recorded.usage, wallMs: 0, toolMs: 0 });
    const unused = scriptedModel(script);
    await run(cachedModel(unused, await openCallStore(file)));
    assert.equal(unused.requests.length, 0);
    const missed = await run(replay, "something else");
    assert.equal(missed.ending.reason, "error");
    assert.match(missed.ending.detail!, /continue request was never recorded[\s\S]*text: asked …[\s\S]*something else/);
    await assert.rejects(replay.chat({ messages: [] }), /holds no such requests at all/);
  });

  it("give repetitions of a request in the order they were recorded, then from the start again", async () => {
    const file = join(folder, "c.jsonl");
    const request = { messages: [{ role: "user" as const, content: "hi" }] };
    const store = await openCallStore(file, { mode: "record" });
    const recorder = cachedModel(chatty(), store);
    for (let round = 0; round < 2; round++) await recorder.chat(request);
    await store.close();
    const player = await openReplayModel(file, "m");
    const heard: string[] = [];
    const texts: string[] = [];
    for (let round = 0; round < 3; round++) {
      texts.push((await player.chat({ ...request, onDelta: (text) => heard.push(text) })).text);
    }
    assert.deepEqual(texts, ["reply 1", "reply 2", "reply 1"]);
    assert.deepEqual(heard, texts);
  });

  it("let an evaluated chain run again with no model and no tool, to the same trajectory", async () => {
    const file = join(folder, "d.jsonl");
    const system = (model: Model, tools: Tool[]) =>
      chainSystem({ name: "s", model, tools, profile: mhqaProfile, clock: () => 0 });
    const options = { sample: 0, seed: 5 };
    const store = await openCallStore(file);
    const model = cachedModel(scriptedModel(script), store);
    const first = await system(model, cachedTools([table()], store)).run(task, options);
    assert.equal(first.answer, "Paris");
    await store.close();
    const again = await openCallStore(file, { mode: "replay" });
    const broken = cachedModel(
      scriptedModel(() => new Error("must not be asked")),
      again,
    );
    const tools = cachedTools([{ ...table(), execute: () => assert.fail() }], again);
    assert.deepEqual(await system(broken, tools).run(task, options), first);
    assert.equal(again.misses, 0);
    const other = await system(broken, tools).run(task, { ...options, seed: 6 });
    assert.equal(other.ending.reason, "error");
    assert.match(other.ending.detail ?? "", /never recorded.*seed: asked \d+, recorded \d+/);
  });

  it("are asked once when equal calls are under way, and no failure is kept", async () => {
    let calls = 0;
    const model: ChatModel = {
      name: "m",
      async chat() {
        if (++calls === 1) throw new Error("503");
        return { text: String(calls), toolCalls: [], finish: "stop", usage: { promptTokens: 1, completionTokens: 1 } };
      },
    };
    const cached = cachedModel(model, await openCallStore());
    const request = { messages: [{ role: "user" as const, content: "hi" }] };
    await assert.rejects(cached.chat(request), /503/);
    const replies = await Promise.all([cached.chat(request), cached.chat(request), cached.chat(request)]);
    assert.deepEqual(
      replies.map(({ text }) => text),
      ["2", "2", "2"],
    );
    assert.equal(calls, 2);
  });

  it("keep each call of a stateful tool apart", async () => {
    let count = 0;
    const tool: Tool = {
      name: "counter",
      description: "",
      inputSchema: { type: "object" },
      stateful: true,
      execute: () => ++count,
    };
    const file = join(folder, "e.jsonl");
    const inRun = { signal: new AbortController().signal, trajectoryId: "x" };
    for (const mode of ["auto", "replay"] as const) {
      const store = await openCallStore(file, { mode });
      const [cached] = cachedTools([tool], store);
      assert.deepEqual([await cached!.execute({}, inRun), await cached!.execute({}, inRun)], [1, 2]);
      await store.close();
    }
  });
});
