import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import {
  type Fault,
  type ModelServerOptions,
  type ServedRequest,
  startModelServer,
} from "../../test/fixtures/model-server.ts";
import { testSize } from "../../test/fixtures/test-size.ts";
import { estimateTokens, requestTokens } from "../base/count/token-estimate.ts";
import { serverEvents } from "../base/http/server-events.ts";
import { runChain } from "../chain/run-chain.ts";
import { runChains } from "../chain/run-chains.ts";
import type { Message } from "../core/message.ts";
import { defineTask } from "../core/task.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { tagNames } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { tableTool } from "../testing/index.ts";
import { textTemplate } from "../tokenizers/chat-template.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import { turnsOf } from "./openai-continue.ts";

const task = defineTask({ id: "t", question: "Where does Ada live?" });
const search = () => tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search");
const first = "<think>look it up</think><wiki_search>Ada</wiki_search>";
const second = "<think>there</think><answer>Lyon</answer>";
const vllm = { data: [{ id: "m", owned_by: "vllm", max_model_len: 4096 }] };

/** The text that the model has to go on with, whatever the mode. */
function soFar(body: Record<string, unknown>): string {
  const { prompt, messages } = body as { prompt?: string; messages?: { role: string; content: string }[] };
  if (prompt !== undefined) return prompt.split("<|assistant|>").at(-1)!;
  return messages!
    .filter((message) => message.role !== "system")
    .map((message) => message.content)
    .join("\n");
}
/** What a good model writes next: the chain minus what is already there. */
function goodModel(body: Record<string, unknown>): string {
  const seen = soFar(body);
  const turn = seen.includes("Ada lives in Lyon.") ? second : first;
  for (let length = turn.length; length > 0; length--) {
    const said = turn.slice(0, length);
    const at = seen.lastIndexOf(said);
    if (at !== -1 && !seen.slice(at + length).includes("<observation>") && length > 3) return turn.slice(length);
  }
  return turn;
}

async function withServer<T>(
  options: Partial<ModelServerOptions>,
  work: (server: Awaited<ReturnType<typeof startModelServer>>) => Promise<T>,
): Promise<T> {
  const server = await startModelServer({ answer: ({ body }) => goodModel(body), ...options });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

describe("openaiCompatible", () => {
  it("works in all three modes, and auto picks one and says which", async () => {
    const template = textTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>");
    const cases = [
      { models: vllm, keepStop: true, expected: "continue" },
      { models: undefined, keepStop: false, expected: "turns", model: "m" },
      { models: vllm, keepStop: true, expected: "completions", chatTemplate: template },
    ];
    for (const { models, keepStop, expected, ...options } of cases) {
      await withServer({ models, keepStop }, async (server) => {
        const notes: string[] = [];
        const model = openaiCompatible({ baseURL: server.url, onNote: (note) => notes.push(note), ...options });
        const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile });
        assert.equal(trajectory.answer, "Lyon", JSON.stringify(trajectory.ending));
        assert.deepEqual(trajectory.violations, []);
        assert.equal(model.mode, expected);
        assert.match(notes.at(-1)!, new RegExp(`m at .*: ${expected}$`));
        assert.equal(trajectory.model, "m");
        const last = server.requests.at(-1)!;
        assert.equal(last.headers["x-session-id"], trajectory.id);
        if (expected === "continue") {
          assert.equal(last.body["continue_final_message"], true);
          const messages = last.body["messages"] as { role: string; content: string }[];
          assert.equal(messages.at(-1)!.content, trajectoryText(trajectory.segments.slice(0, 3)));
        }
        if (expected === "completions")
          assert.match(last.body["prompt"] as string, /^<\|system\|>[\s\S]*<\|assistant\|><think>look/);
        await model.close();
      });
    }
  });

  it("works on token ids where it has the tokenizer: ids go out, ids with log-probabilities come back", async () => {
    const tokenizer = byteTokenizer(tagNames(mhqaProfile).flatMap((tag) => [`<${tag}>`, `</${tag}>`]));
    const answer = ({ body }: ServedRequest) =>
      tokenizer.decode(body["prompt"] as number[]).includes("Ada lives") ? second : first;
    await withServer({ models: vllm, keepStop: true, tokenizer, answer }, async (server) => {
      const model = openaiCompatible({ baseURL: server.url, tokenizer });
      const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile, systemPrompt: false });
      assert.equal(trajectory.answer, "Lyon", JSON.stringify(trajectory.ending));
      const ids = trajectory.segments.flatMap((segment) => segment.tokens!);
      assert.equal(tokenizer.decode(ids), trajectoryText(trajectory.segments));
      const sent = server.requests.at(-1)!.body["prompt"] as number[];
      assert.deepEqual(sent, [...trajectory.promptTokens!, ...ids].slice(0, sent.length));
      for (const segment of trajectory.segments) {
        if (segment.by === "model")
          assert.deepEqual(
            segment.logprobs,
            segment.tokens!.map(() => -0.1),
          );
      }
      await model.close();
    });
    await withServer({ models: vllm, keepStop: true, answer: () => first }, async (server) => {
      const model = openaiCompatible({ baseURL: server.url, tokenizer });
      const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile });
      assert.match(trajectory.ending.detail!, /returns no token ids/);
      await model.close();
    });
  });

  it("sees every request through errors, rate limits, cut streams, malformed JSON and silence", async () => {
    const faults: Fault[] = ["error-500", "rate-limit", "cut", "malformed", "stall", "reset"];
    for (const fault of faults) {
      await withServer(
        { models: vllm, keepStop: true, fault: (_, index) => (index % 2 === 0 ? fault : "none") },
        async (server) => {
          const model = openaiCompatible({ baseURL: server.url, retryDelayMs: 1, stallMs: 60 });
          const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile });
          assert.equal(trajectory.answer, "Lyon", `${fault}: ${JSON.stringify(trajectory.ending)}`);
          assert.deepEqual(trajectory.violations, [], fault);
          await model.close();
        },
      );
    }
  });

  it("gives up where trying again is of no use, and says what the server said", async () => {
    const server = await startModelServer({ answer: () => "", fault: () => "error-500", models: vllm });
    const model = openaiCompatible({ baseURL: server.url, retries: 2, retryDelayMs: 1 });
    const trajectory = await runChain(task, { model, tools: [search()], profile: mhqaProfile });
    assert.equal(trajectory.ending.reason, "error");
    assert.match(trajectory.ending.detail!, /HTTP 500: something broke/);
    assert.equal(server.requests.length, 3);
    await server.close();
    const gone = await runChain(task, { model, tools: [search()], profile: mhqaProfile });
    assert.equal(gone.ending.reason, "error");
    await model.close();
  });

  it("ends many chains at once against a flaky server, none beyond its limits", async () => {
    const count = testSize(60, 500);
    const kinds: Fault[] = ["none", "none", "error-500", "rate-limit", "cut", "malformed", "stall", "reset"];
    await withServer(
      { models: vllm, keepStop: true, fault: (_, index) => kinds[(index * 2654435761) % kinds.length]! },
      async (server) => {
        const model = openaiCompatible({ baseURL: server.url, retryDelayMs: 1, retries: 60, stallMs: 1_000 });
        const tasks = Array.from({ length: count }, (_, index) =>
          defineTask({ id: `t${index}`, question: `Where does Ada live (${index})?` }),
        );
        const options = {
          model,
          tools: [search()],
          profile: mhqaProfile,
          concurrency: 64,
          maxLive: count,
          limits: { maxSteps: 3 },
        };
        const trajectories = await Array.fromAsync(runChains(tasks, options));
        assert.equal(trajectories.length, count);
        assert.equal(new Set(trajectories.map((trajectory) => trajectory.taskId)).size, count);
        for (const trajectory of trajectories) {
          assert.ok(["answered", "error"].includes(trajectory.ending.reason), JSON.stringify(trajectory.ending));
          assert.ok(trajectory.usage.modelCalls <= 3);
        }
        const right = trajectories.filter((trajectory) => trajectory.answer === "Lyon").length;
        assert.ok(right === count, `${right} of ${count} answered`);
        for (const request of server.requests) assert.ok((request.body["max_tokens"] as number) <= 4096);
        await model.close();
      },
    );
  });

  it("sends nothing to a host that was not named", async () => {
    const { OPENAI_BASE_URL } = process.env;
    delete process.env["OPENAI_BASE_URL"];
    try {
      assert.throws(() => openaiCompatible(), /baseURL.*OPENAI_BASE_URL.*"openai"/);
      assert.throws(() => openaiCompatible({ baseURL: "" }), /OPENAI_BASE_URL/);
      assert.throws(() => openaiCompatible({ baseURL: "localhost:8000" }), /must begin with http/);
      assert.throws(
        () => openaiCompatible({ baseUrl: "http://x/v1" } as never),
        /no option baseUrl: did you mean baseURL\?/,
      );
      assert.throws(() => openaiCompatible({ baseURL: "openai", temprature: 1 } as never), /no option temprature/);
      await openaiCompatible({ baseURL: "openai" }).close();
    } finally {
      if (OPENAI_BASE_URL !== undefined) process.env["OPENAI_BASE_URL"] = OPENAI_BASE_URL;
    }
  });

  it("names a wrong address instead of asking for a model", async () => {
    const server = await startModelServer({ answer: () => "" });
    for (const baseURL of [server.url.replace("/v1", "/wrong"), "http://127.0.0.1:9/v1"]) {
      const model = openaiCompatible({ baseURL, retries: 0 });
      await assert.rejects(model.prepare(), (error: Error) => error.message.includes(`GET ${baseURL}/models`));
      await model.close();
    }
    await server.close();
  });

  it("takes a whole answer from a server that ignores the wish for a stream", async () => {
    await withServer({ answer: () => "<answer>Lyon</answer>", models: vllm, ignoreStream: true }, async (server) => {
      const model = openaiCompatible({ baseURL: server.url, retries: 0 });
      const heard: string[] = [];
      const reply = await model.chat({
        messages: [{ role: "user", content: "hi" }],
        onDelta: (text) => heard.push(text),
      });
      assert.equal(reply.text, "<answer>Lyon</answer>");
      assert.equal(heard.join(""), reply.text);
      const trajectory = await runChain(task, {
        model,
        tools: [search()],
        profile: mhqaProfile,
        limits: { maxSteps: 1 },
      });
      assert.match(trajectory.segments.map(({ text }) => text).join(""), /Lyon/);
      assert.equal(server.requests.length, 2, "nothing is asked twice");
      await model.close();
    });
  });

  it("chats: tools, JSON, streaming", async () => {
    await withServer({ answer: () => '{"a": 1}', models: vllm }, async (server) => {
      const model = openaiCompatible({ baseURL: server.url });
      const reply = await model.chat({ messages: [{ role: "user", content: "hi" }], json: true, maxTokens: 50 });
      assert.equal(reply.text, '{"a": 1}');
      assert.equal(reply.usage.completionTokens, 2);
      let heard = "";
      const streamed = await model.chat({
        messages: [{ role: "user", content: "hi" }],
        onDelta: (text) => (heard += text),
      });
      assert.equal(heard, streamed.text);
      assert.deepEqual(server.requests[0]!.body["response_format"], { type: "json_object" });
      await model.close();
    });
  });

  it("estimates what a server does not count as everybody here does: one text, one estimate", async () => {
    const text = "艾达住在里昂".repeat(20);
    const server = createServer((request, response) => {
      const chat = request.url!.endsWith("/chat/completions");
      const choice = chat ? { message: { role: "assistant", content: text } } : { text };
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify(request.method === "GET" ? vllm : { choices: [{ ...choice, finish_reason: "stop" }] }),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const messages = [{ role: "user" as const, content: "艾达住在哪里?" }];
    for (const mode of ["turns", "completions"] as const) {
      const model = openaiCompatible({
        baseURL,
        mode,
        retries: 0,
        chatTemplate: textTemplate("{{ messages[0].content }}"),
      });
      const chat = await model.chat({ messages });
      assert.equal(chat.usage.completionTokens, estimateTokens(text));
      assert.equal(chat.usage.promptTokens, requestTokens({ messages }));
      for await (const event of model.continue({ prompt: messages, text: "", stop: [], maxTokens: 500 })) {
        if (event.type !== "end") continue;
        assert.equal(event.usage.completionTokens, estimateTokens(text));
        assert.equal(event.usage.promptTokens, requestTokens({ messages }));
      }
      await model.close();
    }
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a chain with thoughts, through the template of a model that thinks", () => {
  it("reaches a server of unknown template whole", async () => {
    const chain = "<think>Look it up.</think><plan>Search, then answer.</plan><think>Found.</think><answer>";
    const seen: Message[][] = [];
    const server = await startModelServer({
      answer: (request) => {
        seen.push(request.body["messages"] as Message[]);
        return "1815</answer>";
      },
    });
    try {
      const prompt: Message[] = [{ role: "user", content: "When?" }];
      for (const name of ["qwen3-8b", "gpt-4.1"]) {
        const model = openaiCompatible({ baseURL: server.url, model: name, mode: "turns" });
        for await (const _event of model.continue!({ prompt, text: chain, stop: [], maxTokens: 20 }));
      }
    } finally {
      await server.close();
    }
    // As Qwen3's template leaves it.
    const shown = seen.map((messages) =>
      messages
        .map(({ role, content }) => (role === "assistant" ? content.split("</think>").at(-1)! : content))
        .join("\n"),
    );
    assert.ok(shown[0]!.includes("Search, then answer."));
    assert.ok(!shown[1]!.includes("Search, then answer."), "the test sees what such a template drops");
  });
});

describe("turnsOf", () => {
  it("makes the user say the observations", () => {
    const prompt = [{ role: "user" as const, content: "q" }];
    const chain = "<think>a</think><wiki_search>b</wiki_search>\n<observation>\nc\n</observation>\n\n<think>d";
    assert.deepEqual(
      turnsOf(prompt, chain).map(({ role, content }) => [role, content]),
      [
        ["user", "q"],
        ["assistant", "<think>a</think><wiki_search>b</wiki_search>"],
        ["user", "<observation>\nc\n</observation>"],
        ["assistant", "<think>d"],
        ["user", "Go on exactly where you stopped. Do not repeat anything."],
      ],
    );
    assert.deepEqual(turnsOf(prompt, ""), prompt);
  });
});

describe("serverEvents", () => {
  it("reads events however the bytes are cut", async () => {
    const bytes = new TextEncoder().encode('data: {"a":"é"}\r\n\r\n: comment\n\ndata: x\ndata: y\n\ndata: [DONE]');
    const expected = ['{"a":"é"}', "x\ny", "[DONE]"];
    for (let size = 1; size < bytes.length; size++) {
      async function* chunks() {
        for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
      }
      assert.deepEqual(await Array.fromAsync(serverEvents(chunks())), expected, `chunks of ${size}`);
    }
  });
});
