import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { scriptedModel } from "../testing/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
const question = "Where does Ada live?";
const messages = [{ role: "user", content: question }];
const parameters = {
  type: "object",
  properties: { city: { type: "string" }, sure: { type: "boolean" } },
  required: ["city", "sure"],
  additionalProperties: false,
};
const place = { city: "Lyon", sure: true };
const answers = (text: string) =>
  scriptedModel((request, call) =>
    request.text.includes("Ada lives in Lyon.")
      ? `<think>x</think><answer>${text}</answer>`
      : (good as Loose)(request, call),
  );
const tools = ["extract", "other"].map((name) => ({ type: "function", function: { name, parameters } }));

describe("a call that is demanded", () => {
  it("is the answer of a chain that used its own tools, through every API", async () => {
    const model = answers(JSON.stringify(place));
    await withServer({ model }, async (ask) => {
      const forced = { type: "function", function: { name: "extract" } };
      const chat: Loose = await (await ask("/v1/chat/completions", { messages, tools, tool_choice: forced })).json();
      const [call] = chat.choices[0].message.tool_calls;
      assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["extract", place]);
      assert.equal(chat.choices[0].finish_reason, "tool_calls");
      assert.match(model.requests[0]!.prompt[0]!.content, /passed on to extract/);
      const flat = tools.map(({ function: one }) => ({ type: "function", ...one }));
      const response: Loose = await (
        await ask("/v1/responses", { input: question, tools: flat, tool_choice: { type: "function", name: "extract" } })
      ).json();
      assert.equal(response.output.at(-1).type, "function_call");
      assert.deepEqual(JSON.parse(response.output.at(-1).arguments), place);
      const own = flat.map(({ name }) => ({ name, input_schema: parameters }));
      const body = { max_tokens: 500, messages, tools: own, tool_choice: { type: "tool", name: "extract" } };
      const message: Loose = await (await ask("/v1/messages", body)).json();
      assert.deepEqual([message.content[0].type, message.content[0].input], ["tool_use", place]);
      assert.equal(message.stop_reason, "tool_use");
      const streamed = await (await ask("/v1/messages", { ...body, stream: true })).text();
      assert.match(streamed, /"type":"tool_use"[\s\S]*Lyon/);
      // The client answers it, and the chain goes on with words.
      const told = [...messages, chat.choices[0].message, { role: "tool", tool_call_id: call.id, content: "saved" }];
      await (await ask("/v1/chat/completions", { messages: told, tools })).json();
      assert.match(model.requests.at(-1)!.text, /<extract>[\s\S]*Lyon[\s\S]*saved/);
    });
  });

  it("may be of any of several tools, and of those that are allowed", async () => {
    const model = answers(JSON.stringify({ tool: "other", input: place }));
    await withServer({ model }, async (ask) => {
      const chat: Loose = await (
        await ask("/v1/chat/completions", { messages, tools, tool_choice: "required" })
      ).json();
      const [{ function: called }] = chat.choices[0].message.tool_calls;
      assert.deepEqual([called.name, JSON.parse(called.arguments)], ["other", place]);
      const flat = tools.map(({ function: one }) => ({ type: "function", ...one }));
      const allowed = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "extract" }] };
      await (await ask("/v1/responses", { input: question, tools: flat, tool_choice: allowed })).json();
      assert.match(model.requests.at(-1)!.prompt[0]!.content, /<extract>/);
      assert.doesNotMatch(model.requests.at(-1)!.prompt[0]!.content, /<other>/);
    });
  });

  it("is refused where its tool is not there, and fails where the input stays wrong", async () => {
    const model = answers('{"city": 3}');
    await withServer({ model }, async (ask) => {
      const refusal = async (more: object): Promise<Loose> =>
        ((await (await ask("/v1/chat/completions", { messages, ...more })).json()) as Loose).error.code;
      assert.equal(
        await refusal({ tools, tool_choice: { type: "function", function: { name: "third" } } }),
        "unknown_tool",
      );
      assert.equal(await refusal({ tool_choice: "required" }), "unknown_tool");
      assert.equal(await refusal({ tools, tool_choice: { type: "web_search" } }), "unsupported_value");
      const forced = { type: "function", function: { name: "extract" } };
      assert.equal(await refusal({ tools, tool_choice: forced }), "invalid_answer");
    });
  });
});

describe("tools that another server would run", () => {
  it("are refused by name, but for the search that this one has", async () => {
    await withServer({}, async (ask) => {
      const refused: [string, object][] = [
        ["/v1/responses", { input: question, tools: [{ type: "code_interpreter" }] }],
        ["/v1/responses", { input: question, tools: [{ type: "mcp", server_label: "x", server_url: "https://x" }] }],
        ["/v1/chat/completions", { messages, tools: [{ type: "custom", custom: { name: "x" } }] }],
        ["/v1/messages", { max_tokens: 9, messages, tools: [{ type: "bash_20250124", name: "bash" }] }],
      ];
      for (const [path, body] of refused) {
        const reply = await ask(path, body);
        assert.equal(reply.status, 400, path);
        assert.match(
          ((await reply.json()) as Loose).error.message,
          /code_interpreter|MCP servers|custom|bash_20250124/,
        );
      }
      const search = [{ type: "web_search" }, { type: "mcp", server_label: "coa" }];
      assert.equal((await ask("/v1/responses", { input: question, tools: search })).status, 200);
    });
  });
});

describe("requests without a seed", () => {
  it("draw differently each time from an engine in this process, and as they say with one", async () => {
    const model = scriptedModel(good, { tokenizer: byteTokenizer() });
    await withServer({ model, defaults: { systemPrompt: false } }, async (ask) => {
      const seeds = async (more: object) => {
        const before = model.requests.length;
        for (let i = 0; i < 3; i++) await (await ask("/v1/chat/completions", { messages, ...more })).json();
        return new Set(model.requests.slice(before).map(({ seed }) => seed)).size;
      };
      assert.equal(await seeds({}), 6, "two calls of three chains");
      assert.equal(await seeds({ seed: 7 }), 2);
    });
  });

  it("are answered with what a few tokens hold, and say so", async () => {
    const model = scriptedModel(good);
    await withServer({ model }, async (ask) => {
      const reply: Loose = await (await ask("/v1/chat/completions", { messages, max_tokens: 5 })).json();
      assert.equal(reply.choices[0].finish_reason, "length");
      assert.ok(model.requests.length > 0, "the model was asked");
      assert.ok(reply.usage.completion_tokens > 0);
    });
  });
});
