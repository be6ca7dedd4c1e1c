import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { replyJson } from "../base/http/handler.ts";
import { listen } from "../base/http/listen.ts";
import { runChain } from "../chain/run-chain.ts";
import type { ContinueEvent } from "../core/model.ts";
import { defineTask } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { trajectoryText } from "../core/trajectory.ts";
import { tagNames } from "../language/profile.ts";
import { mhqaProfile } from "../language/profiles.ts";
import { tableTool } from "../testing/index.ts";
import { openaiCompatible } from "./openai-compatible.ts";

const tags = tagNames(mhqaProfile).flatMap((tag) => [`<${tag}>`, `</${tag}>`]);
const tokenizer = byteTokenizer(tags);
const decode = (ids: readonly number[]) => Buffer.concat(ids.map((id) => Buffer.from(tokenizer.tokenBytes(id))));

interface Asked {
  path: string;
  body: Record<string, unknown>;
}

/**
 * A double of llama.cpp's server, stream and all, as its source has it: text is held back while it may begin a stop
 * string, the stop string is left out, and a token that ends inside a character is not reported.
 */
async function llamaServer(answer: (text: string) => string, options: { slotWindow?: number; cutAfter?: number } = {}) {
  const asked: Asked[] = [];
  let cuts = options.cutAfter === undefined ? 0 : 1;
  const { origin, close } = await listen(async (request, reply) => {
    const json = (value: unknown) => replyJson(reply, 200, value);
    if (request.url === "/v1/models")
      return json({ data: [{ id: "served.gguf", owned_by: "llamacpp", meta: { n_ctx_train: 4096 } }] });
    if (request.url === "/props") return json({ default_generation_settings: { n_ctx: options.slotWindow ?? 1024 } });
    const body = JSON.parse((await request.read(2 ** 30)).toString("utf8")) as {
      prompt: number[];
      stop: string[];
      n_predict: number;
    };
    asked.push({ path: request.url, body: body as never });
    const stream = reply.stream(200, { "content-type": "text/event-stream" });
    const ids = tokenizer.encodeWithSpecials(answer(decode(body.prompt).toString("utf8"))).slice(0, body.n_predict);
    const event = (value: unknown) => void stream.write(`data: ${JSON.stringify(value)}\n\n`);
    let sent = 0;
    let stopped = "";
    for (let count = 1; count <= ids.length && stopped === ""; count++) {
      const bytes = decode(ids.slice(0, count));
      const text = bytes.toString("utf8");
      if (text.includes("\ufffd")) continue; // inside a character: not reported
      stopped = body.stop.find((stop) => text.includes(stop)) ?? "";
      const whole = stopped === "" ? text : text.slice(0, text.indexOf(stopped));
      const mayStop = body.stop.some((stop) =>
        Array.from({ length: stop.length - 1 }, (_, at) => stop.slice(0, at + 1)).some((begin) => text.endsWith(begin)),
      );
      const content = stopped === "" && mayStop ? "" : whole.slice(sent);
      sent += content.length;
      const probabilities = [{ id: ids[count - 1], logprob: -0.25, top_logprobs: [] }];
      event({
        content,
        tokens: [ids[count - 1]],
        stop: false,
        tokens_predicted: count,
        completion_probabilities: probabilities,
      });
      if (cuts > 0 && count === options.cutAfter) {
        cuts--;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return reply.cut();
      }
    }
    event({
      content: "", tokens: [], stop: true, stop_type: stopped === "" ? "limit" : "word", stopping_word: stopped,
      tokens_predicted: ids.length, tokens_evaluated: body.prompt.length, timings: { cache_n: 3 },
    }); // biome-ignore format: one event
    stream.end();
  });
  return { url: `${origin}/v1`, asked, close };
}

async function collect(events: AsyncIterable<ContinueEvent>) {
  const all = await Array.fromAsync(events);
  const deltas = all.filter((event) => event.type === "delta");
  return {
    text: deltas.map((event) => event.text).join(""),
    tokens: deltas.flatMap((event) => event.tokens ?? []),
    logprobs: deltas.flatMap((event) => event.logprobs ?? []),
    end: all.at(-1) as Extract<ContinueEvent, { type: "end" }>,
  };
}

const prompt = [{ role: "user" as const, content: "Where?" }];

describe("a client of llama.cpp", () => {
  it("takes ids and log-probabilities from the native endpoint, the stop token among them", async () => {
    const said = "<think>look it up</think><answer>Lyon</answer>";
    const server = await llamaServer(() => said);
    try {
      const model = openaiCompatible({ baseURL: server.url, tokenizer: tokenizer as Tokenizer });
      const { text, tokens, logprobs, end } = await collect(
        model.continue({ prompt, text: "", stop: ["</answer>"], maxTokens: 500, temperature: 0 }),
      );
      assert.equal(text, said);
      assert.deepEqual(tokens, tokenizer.encodeWithSpecials(said));
      assert.equal(logprobs.length, tokens.length);
      assert.equal(end.finish, "stop");
      assert.equal(end.usage.cachedTokens, 3);
      const [{ path, body }] = server.asked as [Asked];
      assert.equal(path, "/completion");
      assert.deepEqual(body["prompt"], tokenizer.encodePrompt(prompt));
      assert.equal(body["return_tokens"], true);
      assert.equal(body["n_probs"], 1);
    } finally {
      await server.close();
    }
  });

  it("finds the ids that the stream leaves out inside characters, and says nothing of their probability", async () => {
    const said = "<think>é, 日本 and 😀 < done</think>";
    const server = await llamaServer(() => said);
    try {
      const model = openaiCompatible({ baseURL: server.url, tokenizer: tokenizer as Tokenizer });
      const { text, tokens, logprobs } = await collect(
        model.continue({ prompt, text: "", stop: ["</think>"], maxTokens: 500 }),
      );
      assert.equal(text, said);
      assert.deepEqual(tokens, tokenizer.encodeWithSpecials(said));
      assert.equal(logprobs.length, tokens.length - (1 + 2 + 2 + 3));
    } finally {
      await server.close();
    }
  });

  it("continues after a broken stream with what it heard, and runs a whole chain on ids", async () => {
    const server = await llamaServer(
      (text) => {
        const chain = "<think>look</think><wiki_search>Ada</wiki_search>";
        const rest = "<think>there</think><answer>Lyon</answer>";
        if (text.includes("Ada lives in Lyon")) return rest;
        const heard = text.slice(text.lastIndexOf("?") + 1);
        const said = chain.slice(0, [...chain].findLastIndex((_, at) => heard.endsWith(chain.slice(0, at + 1))) + 1);
        return chain.slice(said.length);
      },
      { cutAfter: 3, slotWindow: 65_536 },
    );
    try {
      const model = openaiCompatible({ baseURL: server.url, tokenizer: tokenizer as Tokenizer, retryDelayMs: 1 });
      const task = defineTask({ id: "t", question: "Where does Ada live?" });
      const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
      const trajectory = await runChain(task, { model, tools, profile: mhqaProfile });
      assert.equal(trajectory.answer, "Lyon", JSON.stringify(trajectory.ending));
      const ids = trajectory.segments.flatMap((segment) => segment.tokens ?? []);
      assert.equal(decode(ids).toString("utf8"), trajectoryText(trajectory.segments));
      assert.equal(model.capabilities.contextWindow, 65_536);
    } finally {
      await server.close();
    }
  });

  it("knows the smaller window: the model's own, or what one slot of the server has", async () => {
    for (const [own, slot, expected] of [
      [512, 2048, 512],
      [4096, 256, 256],
    ] as const) {
      // biome-ignore format: one list
      const server = await llamaServer(() => "x", { slotWindow: slot });
      try {
        const model = openaiCompatible({ baseURL: server.url, tokenizer: tokenizer as Tokenizer, contextWindow: own });
        await model.prepare();
        assert.equal(model.capabilities.contextWindow, expected);
      } finally {
        await server.close();
      }
    }
  });
});
