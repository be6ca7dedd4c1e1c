/** Real clients against a real server of ours: what each of them shows of a chain that looks something up and answers. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { withServer } from "../fixtures/serve-server.ts";

const installed = existsSync(join(import.meta.dirname, "node_modules/openai"));
const skip = installed ? false : "install the frameworks first: npm install --prefix test/clients";
const question = "Where does Ada live?";
const messages = [{ role: "user" as const, content: question }];
const roles = "think: look it up\nwiki_search: Ada\nthink: there";

// biome-ignore lint/suspicious/noExplicitAny: clients whose types are not installed with the package
type Loose = any;
/** Loaded by name at run time: the type checker runs without the frameworks. */
const load = (name: string): Promise<Loose> => import(name);
const withOrigin = (work: (baseURL: string, origin: string) => Promise<void>) =>
  withServer({ keys: [{ key: "sk-test-key" }] }, (_ask, origin) => work(`${origin}/v1`, origin));
const apiKey = "sk-test-key";

describe("the openai client", { skip }, () => {
  it("reads chat completions, whole, streamed and by its stream helper", async () => {
    await withOrigin(async (baseURL) => {
      const { default: OpenAI } = await load("openai");
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      const whole = await client.chat.completions.create({ model: "coa", messages });
      assert.equal(whole.choices[0].message.content, "Lyon");
      assert.equal(whole.choices[0].message.reasoning, roles);
      let content = "";
      let reasoning = "";
      let tokens = 0;
      const options = { model: "coa", messages, stream: true, stream_options: { include_usage: true } };
      for await (const chunk of await client.chat.completions.create(options)) {
        content += chunk.choices[0]?.delta.content ?? "";
        reasoning += chunk.choices[0]?.delta.reasoning ?? "";
        tokens = chunk.usage?.total_tokens ?? tokens;
      }
      assert.deepEqual([content, reasoning], ["Lyon", roles]);
      assert.ok(tokens > 0);
      const final = await client.chat.completions.stream({ model: "coa", messages }).finalChatCompletion();
      assert.equal(final.choices[0].message.content, "Lyon");
      assert.equal((await client.models.list()).data[0].id, "scripted");
    });
  });

  it("reads responses, whole, streamed, stored and continued", async () => {
    await withOrigin(async (baseURL) => {
      const { default: OpenAI } = await load("openai");
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      const whole = await client.responses.create({ model: "coa", input: question });
      assert.equal(whole.output_text, "Lyon");
      const stream = client.responses.stream({
        model: "coa",
        input: question,
        tools: [{ type: "mcp", server_label: "coa" }], // the server's own
      });
      const types = new Set<string>();
      for await (const event of stream) types.add(event.type);
      assert.equal((await stream.finalResponse()).output_text, "Lyon");
      assert.ok(types.has("response.reasoning_summary_text.delta") && types.has("response.mcp_call.completed"));
      assert.equal((await client.responses.retrieve(whole.id)).output_text, "Lyon");
      const next = await client.responses.create({ model: "coa", input: "And now?", previous_response_id: whole.id });
      assert.equal(next.previous_response_id, whole.id);
      await client.responses.delete(whole.id);
      await assert.rejects(client.responses.retrieve(whole.id), { status: 404 });
    });
  });

  it("raises our refusals as its own errors", async () => {
    await withOrigin(async (baseURL) => {
      const { default: OpenAI } = await load("openai");
      const wrong = new OpenAI({ baseURL, apiKey: "sk-wrong-key", maxRetries: 0 });
      await assert.rejects(wrong.models.list(), { status: 401, code: "invalid_api_key" });
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
      await assert.rejects(client.chat.completions.create({ model: "gpt-9", messages }), {
        status: 404,
        code: "model_not_found",
      });
    });
  });
});

describe("the AI SDK", { skip }, () => {
  it("shows roles as reasoning and executed tools as the provider's own, through both OpenAI providers", async () => {
    await withOrigin(async (baseURL) => {
      const { generateText, streamText } = await load("ai");
      const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
      const compatible = createOpenAICompatible({ name: "coa", baseURL, apiKey })("coa");
      const plain = await generateText({ model: compatible, prompt: question });
      assert.equal(plain.text, "Lyon");
      assert.match(plain.reasoningText, /look it up/);
      const streamed = streamText({ model: compatible, prompt: question });
      assert.equal(await streamed.text, "Lyon");
      assert.match(await streamed.reasoningText, /look it up/);
      const { createOpenAI } = await load("@ai-sdk/openai");
      const openai = createOpenAI({ baseURL, apiKey });
      for (const model of [openai.responses("coa"), openai.chat("coa")]) {
        assert.equal((await generateText({ model, prompt: question })).text, "Lyon");
        assert.equal(await streamText({ model, prompt: question }).text, "Lyon");
      }
      const responses = streamText({ model: openai.responses("coa"), prompt: question });
      assert.match(await responses.reasoningText, /look it up/);
    });
  });
});

describe("LangChain", { skip }, () => {
  it("answers through chat completions and through responses", async () => {
    await withOrigin(async (baseURL) => {
      const { ChatOpenAI } = await load("@langchain/openai");
      for (const useResponsesApi of [false, true]) {
        const model = new ChatOpenAI({
          model: "coa",
          apiKey,
          configuration: { baseURL },
          useResponsesApi,
          maxRetries: 0,
        });
        assert.equal((await model.invoke(question)).text, "Lyon");
        let text = "";
        for await (const chunk of await model.stream(question)) text += chunk.text;
        assert.equal(text, "Lyon");
      }
    });
  });
});

describe("the Anthropic client", { skip }, () => {
  it("reads messages, whole, streamed and by its stream helper, and counts tokens", async () => {
    await withOrigin(async (_baseURL, origin) => {
      const { default: Anthropic } = await load("@anthropic-ai/sdk");
      const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
      const asked = { model: "coa", max_tokens: 2000, messages, thinking: { type: "enabled", budget_tokens: 1024 } };
      const whole = await client.messages.create(asked);
      assert.deepEqual(
        whole.content.map((block: Loose) => block.thinking ?? block.text),
        [roles, "Lyon"],
      );
      const stream = client.messages.stream(asked);
      let text = "";
      stream.on("text", (piece: string) => {
        text += piece;
      });
      const final = await stream.finalMessage();
      assert.equal(text, "Lyon");
      assert.equal(final.content[0].thinking, roles);
      assert.equal(final.stop_reason, "end_turn");
      assert.ok((await client.messages.countTokens(asked)).input_tokens > 0);
      const wrong = new Anthropic({ baseURL: origin, apiKey: "sk-wrong-key", maxRetries: 0 });
      await assert.rejects(wrong.messages.create(asked), { status: 401 });
    });
  });

  it("is understood through the AI SDK as well", async () => {
    await withOrigin(async (baseURL) => {
      const { generateText, streamText } = await load("ai");
      const { createAnthropic } = await load("@ai-sdk/anthropic");
      const model = createAnthropic({ baseURL, apiKey })("coa");
      const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } };
      const whole = await generateText({ model, prompt: question, providerOptions });
      assert.equal(whole.text, "Lyon");
      assert.match(whole.reasoningText, /look it up/);
      const streamed = streamText({ model, prompt: question, providerOptions });
      assert.equal(await streamed.text, "Lyon");
      assert.match(await streamed.reasoningText, /look it up/);
    });
  });
});

describe("the AI SDK's chat in a page", { skip }, () => {
  it("reads the UI message stream, and takes it up again", async () => {
    await withOrigin(async (_baseURL, origin) => {
      const { DefaultChatTransport, readUIMessageStream } = await load("ai");
      const headers = { authorization: `Bearer ${apiKey}` };
      const transport = new DefaultChatTransport({ api: `${origin}/api/chat`, headers });
      const said = [{ id: "m1", role: "user", parts: [{ type: "text", text: question }] }];
      const stream = await transport.sendMessages({
        chatId: "chat-1",
        trigger: "submit-message",
        messages: said,
        abortSignal: undefined,
      });
      let last: Loose;
      for await (const message of readUIMessageStream({ stream })) last = message;
      const shown = last.parts.map((part: Loose) => part.type + (part.state ? `:${part.state}` : ""));
      const wanted = ["step-start", "data-segment", "reasoning:done", "data-segment", "dynamic-tool:output-available"];
      assert.deepEqual(shown.slice(0, 5), wanted);
      assert.equal(last.parts.find((part: Loose) => part.type === "text").text, "Lyon");
      assert.equal(last.metadata.model, "scripted");
      assert.equal(await transport.reconnectToStream({ chatId: "chat-1" }), null);
    });
  });
});

describe("curl", () => {
  it("reads every API", async () => {
    await withOrigin(async (_baseURL, origin) => {
      const curl = async (path: string, body: object): Promise<string> =>
        (
          await promisify(execFile)("curl", [
            ...["-sS", "--fail-with-body", "-N", `${origin}${path}`, "-H", `authorization: Bearer ${apiKey}`],
            ...["-H", "content-type: application/json", "-d", JSON.stringify(body)],
          ])
        ).stdout;
      assert.match(await curl("/v1/chat/completions", { messages }), /"content":"Lyon"/);
      assert.match(await curl("/v1/chat/completions", { messages, stream: true }), /data: \[DONE\]\n\n$/);
      assert.match(await curl("/v1/responses", { input: question }), /"text":"Lyon"/);
      assert.match(await curl("/v1/messages", { max_tokens: 999, messages, stream: true }), /event: message_stop/);
    });
  });
});
