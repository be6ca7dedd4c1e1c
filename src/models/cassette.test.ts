import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runChain } from "../chain/run-chain.ts";
import { defineTask } from "../core/task.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { scriptedModel, tableTool } from "../testing/index.ts";
import { cassette } from "./cassette.ts";

const folder = await mkdtemp(join(tmpdir(), "coa-cassette-"));
after(() => rm(folder, { recursive: true, force: true }));
const task = defineTask({ id: "t", question: "q" });
const script = ["<think>t</think><wiki_search>x</wiki_search>", "<think>t</think><answer>y</answer>"];
const run = (model: ReturnType<typeof cassette>, answer = "z") =>
  runChain(task, { model, tools: [tableTool({ x: answer }, "wiki_search")], profile: mhqaProfile, id: "same" });

describe("cassette", () => {
  it("replays what it recorded, without the model", async () => {
    const file = join(folder, "a.jsonl");
    const recorded = await run(cassette({ file, mode: "record", model: scriptedModel(script) }));
    const replayed = await run(cassette({ file, mode: "replay" }));
    assert.deepEqual(
      replayed.segments.map((segment) => segment.text),
      recorded.segments.map((segment) => segment.text),
    );
    assert.deepEqual({ ...replayed.usage, wallMs: 0, toolMs: 0 }, { ...recorded.usage, wallMs: 0, toolMs: 0 });
    const unused = scriptedModel(script);
    await run(cassette({ file, mode: "auto", model: unused }));
    assert.equal(unused.requests.length, 0);
  });

  it("fails loudly on a request it does not know, and shows where it parts from the nearest", async () => {
    const file = join(folder, "b.jsonl");
    await run(cassette({ file, mode: "record", model: scriptedModel(script) }));
    const missed = await run(cassette({ file, mode: "replay" }), "something else");
    assert.equal(missed.ending.reason, "error");
    assert.match(
      missed.ending.detail!,
      /no recording of this continue request[\s\S]*recorded: …[\s\S]*asked: {4}…[\s\S]*something else/,
    );
    const model = cassette({ file, mode: "replay" });
    await assert.rejects(model.chat({ messages: [] }), /holds no such requests at all/);
  });

  it("records chats too, each repetition apart", async () => {
    const file = join(folder, "c.jsonl");
    let said = 0;
    const chatty = Object.assign(scriptedModel([]), {
      chat: async () => ({
        text: `reply ${++said}`,
        toolCalls: [],
        finish: "stop" as const,
        usage: { promptTokens: 1, completionTokens: 1 },
      }),
    });
    const request = { messages: [{ role: "user" as const, content: "hi" }] };
    const recorder = cassette({ file, mode: "record", model: chatty });
    for (let round = 0; round < 2; round++) await recorder.chat(request);
    const player = cassette({ file, mode: "replay" });
    assert.equal((await player.chat(request)).text, "reply 1");
    assert.equal((await player.chat(request)).text, "reply 2");
    await assert.rejects(player.chat(request), /recorded 2 time\(s\) and is asked once more/);
  });
});
