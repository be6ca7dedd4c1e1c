/**
 * Sessions of real clients as teams run them: one agent hands over to another, a second prompt needs what tools returned in the
 * first, and answers are structured by a tool that must be called.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { z } from "zod";
import { type Script, scriptedModel } from "../../src/testing/index.ts";
import { good, withServer } from "../fixtures/serve-server.ts";

const missing = ["openai", "@openai/agents", "@langchain/anthropic"].filter(
  (name) => !existsSync(join(import.meta.dirname, "node_modules", name)),
);
const skip = missing.length > 0 ? "install the clients first: npm install --prefix test/clients" : false;
// biome-ignore lint/suspicious/noExplicitAny: clients whose types are not installed with the package
type Loose = any;
const load = (name: string): Promise<Loose> => import(name);
const apiKey = "sk-test-key";

function session(script: Script, use: (origin: string, model: ReturnType<typeof scriptedModel>) => Promise<void>) {
  const model = scriptedModel(script);
  return withServer({ model, keys: [{ key: apiKey }] }, (_ask, origin) => use(origin, model));
}

describe("OpenAI Agents", { skip }, () => {
  const handsOver: Script = ({ prompt, text }) => {
    const system = prompt[0]!.content;
    if (system.includes("You triage.")) return "<think>not mine</think><transfer_to_billing>{}</transfer_to_billing>";
    if (!system.includes("You do billing.")) return "<think>lost</think><answer>no instructions</answer>";
    return text.includes("42 EUR")
      ? "<think>there</think><answer>You owe 42 EUR.</answer>"
      : '<think>look</think><read_invoice>{"id": "7"}</read_invoice>';
  };
  for (const [name, useResponses] of [["responses", true], ["chat completions", false]] as const) // biome-ignore format: two APIs
    for (const streamed of [false, true])
      it(`hands over to an agent with its own instructions and tools: ${name}${streamed ? ", streamed" : ""}`, async () => {
        const { Agent, handoff, OpenAIProvider, Runner, tool } = await load("@openai/agents");
        await session(handsOver, async (origin, model) => {
          const read: string[] = [];
          const readInvoice = tool({
            name: "read_invoice",
            description: "Read an invoice.",
            parameters: z.object({ id: z.string() }),
            execute: ({ id }: { id: string }) => {
              read.push(id);
              return "42 EUR";
            },
          });
          const billing = new Agent({ name: "Billing", instructions: "You do billing.", tools: [readInvoice] });
          const triage = new Agent({ name: "Triage", instructions: "You triage.", handoffs: [handoff(billing, { toolNameOverride: "transfer_to_billing" })] }); // biome-ignore format: one agent
          const modelProvider = new OpenAIProvider({ apiKey, baseURL: `${origin}/v1`, useResponses });
          const runner = new Runner({ modelProvider, model: "coa", tracingDisabled: true });
          const run = await runner.run(triage, "What do I owe?", { stream: streamed });
          if (streamed) await run.completed;
          assert.equal(run.finalOutput, "You owe 42 EUR.");
          assert.deepEqual(read, ["7"]);
          assert.equal(run.lastAgent.name, "Billing");
          const last = model.requests.at(-1)!.prompt[0]!.content;
          assert.match(last, /<read_invoice>/);
          assert.doesNotMatch(last, /You triage|transfer_to_billing/);
        });
      });

  it("calls a tool that it demands", async () => {
    const { Agent, OpenAIProvider, Runner, tool } = await load("@openai/agents");
    const script: Script = (request, call) =>
      request.text.includes("Ada lives in Lyon.")
        ? '<think>x</think><answer>{"city": "Lyon"}</answer>'
        : (good as Loose)(request, call);
    await session(script, async (origin) => {
      for (const useResponses of [true, false]) {
        const saved: string[] = [];
        const save = tool({
          name: "save_city",
          description: "Save a city.",
          parameters: z.object({ city: z.string() }),
          execute: ({ city }: { city: string }) => {
            saved.push(city);
            return `saved ${city}`;
          },
        });
        const modelSettings = { toolChoice: "save_city" };
        const agent = new Agent({ name: "Clerk", instructions: "Save it.", tools: [save], modelSettings, toolUseBehavior: "stop_on_first_tool" }); // biome-ignore format: one agent
        const modelProvider = new OpenAIProvider({ apiKey, baseURL: `${origin}/v1`, useResponses });
        const run = await new Runner({ modelProvider, model: "coa", tracingDisabled: true }).run(agent, "Where does Ada live?"); // biome-ignore format: one run
        assert.deepEqual([saved, run.finalOutput], [["Lyon"], "saved Lyon"]);
      }
    });
  });
});

/** Reads a file in the first turn; the second is answered from what it read then, without another call. */
const remembers: Script = ({ prompt, text }) => {
  const before = prompt.slice(0, -1).map(({ content }) => content).join("\n"); // biome-ignore format: one text
  if (prompt.at(-1)!.content.includes("Which port"))
    return `<think>seen</think><answer>${/port = 8443/.test(before) ? "8443" : "I have not read it."}</answer>`;
  return /port = 8443/.test(text)
    ? "<think>read</think><answer>Read it.</answer>"
    : '<think>look</think><shell>{"command": "cat app.toml"}</shell>';
};
const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const result = "name = demo\nport = 8443\n";

describe("a second prompt", { skip }, () => {
  it("as Codex sends it: nothing stored, reasoning encrypted, all items again", async () => {
    const { default: OpenAI } = await load("openai");
    await session(remembers, async (origin, model) => {
      const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
      const tools = [{ type: "function", name: "shell", description: "Run a command.", strict: false, parameters }];
      const wrapped = (text: string) => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
      const developer = { type: "message", role: "developer", content: [{ type: "input_text", text: "Sandbox: read-only." }] }; // biome-ignore format: one message
      const input: Loose[] = [developer, wrapped("<environment_context>cwd: /app</environment_context>")];
      const turn = async (text: string): Promise<string> => {
        input.push(wrapped(text));
        for (let step = 0; step < 4; step++) {
          const response = await client.responses
            .stream({
              model: "coa",
              instructions: "You are a coding agent.",
              input,
              tools,
              tool_choice: "auto",
              parallel_tool_calls: false,
              reasoning: { effort: "medium", summary: "auto" },
              store: false,
              include: ["reasoning.encrypted_content"],
              prompt_cache_key: "0199-session",
            })
            .finalResponse();
          input.push(...response.output.map(({ id: _, status: __, ...item }: Loose) => item)); // as Codex keeps them
          const calls = response.output.filter((item: Loose) => item.type === "function_call");
          if (calls.length === 0) return response.output_text;
          for (const { call_id } of calls) input.push({ type: "function_call_output", call_id, output: result });
        }
        return "no end";
      };
      assert.equal(await turn("Read app.toml."), "Read it.");
      assert.equal(await turn("Which port was it?"), "8443");
      assert.match(model.requests.at(-1)!.prompt[0]!.content, /You are a coding agent\.[\s\S]*Sandbox: read-only\./);
    });
  });

  it("as Claude Code sends it: system in blocks, thinking returned, results as blocks, reminders beside them", async () => {
    const { default: Anthropic } = await load("@anthropic-ai/sdk");
    await session(remembers, async (origin, model) => {
      const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
      const cache_control = { type: "ephemeral" };
      const system = ["You are Claude Code.", "Be brief."].map((text) => ({ type: "text", text, cache_control }));
      const tools = [{ name: "shell", description: "Run a command.", input_schema: parameters, cache_control }];
      const reminder = { type: "text", text: "<system-reminder>The todo list is empty.</system-reminder>" };
      const said: Loose[] = [];
      const turn = async (text: string): Promise<string> => {
        said.push({ role: "user", content: [reminder, { type: "text", text, cache_control }] });
        for (let step = 0; step < 4; step++) {
          const body = { model: "coa", max_tokens: 8000, thinking: { type: "enabled", budget_tokens: 4000 }, system, tools, messages: said, metadata: { user_id: "user_1" } }; // biome-ignore format: one body
          const { content, stop_reason } = await client.messages.stream(body).finalMessage();
          said.push({ role: "assistant", content });
          if (stop_reason !== "tool_use") return content.findLast(({ type }: Loose) => type === "text").text;
          const results = content.flatMap(({ type, id }: Loose) =>
            type === "tool_use"
              ? [{ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: result }] }]
              : [],
          );
          said.push({ role: "user", content: [...results, reminder] });
        }
        return "no end";
      };
      assert.equal(await turn("Read app.toml."), "Read it.");
      assert.equal(await turn("Which port was it?"), "8443");
      assert.match(model.requests.at(-1)!.prompt[0]!.content, /You are Claude Code\.[\s\S]*Be brief\./);
    });
  });
});

describe("structured answers by a tool that must be called", { skip }, () => {
  const place = { city: "Lyon", mail: "ada@lyon.example" };
  const schema = z.object({ city: z.string(), mail: z.email() });
  const structured: Script = (request, call) =>
    request.text.includes("Ada lives in Lyon.")
      ? `<think>x</think><answer>${JSON.stringify(place)}</answer>`
      : (good as Loose)(request, call);
  const question = "Where does Ada live?";

  it("through LangChain, for OpenAI by function calling and for Anthropic by default", async () => {
    const { ChatOpenAI } = await load("@langchain/openai");
    const { ChatAnthropic } = await load("@langchain/anthropic");
    await session(structured, async (origin) => {
      const openai = { apiKey, model: "coa", maxRetries: 0, configuration: { baseURL: `${origin}/v1` } };
      const models = [
        new ChatOpenAI(openai).withStructuredOutput(schema, { name: "place", method: "functionCalling" }),
        new ChatOpenAI({ ...openai, useResponsesApi: true }).withStructuredOutput(schema, { name: "place", method: "functionCalling" }),
        new ChatAnthropic({ apiKey, model: "coa", maxRetries: 0, anthropicApiUrl: origin }).withStructuredOutput(schema, { name: "place" }),
      ]; // biome-ignore format: one model a line
      for (const model of models) assert.deepEqual(await model.invoke(question), place);
    });
  });

  it("through the AI SDK, by Output.object of its Anthropic provider and by toolChoice", async () => {
    const { generateText, Output, streamText, tool } = await load("ai");
    const { createAnthropic } = await load("@ai-sdk/anthropic");
    const { createOpenAI } = await load("@ai-sdk/openai");
    await session(structured, async (origin) => {
      const anthropic = createAnthropic({ apiKey, baseURL: `${origin}/v1` });
      const openai = createOpenAI({ apiKey, baseURL: `${origin}/v1` });
      const output = Output.object({ schema });
      const whole = await generateText({ model: anthropic("coa"), prompt: question, output, maxRetries: 0 });
      assert.deepEqual(whole.output, place);
      assert.deepEqual(
        await streamText({ model: anthropic("coa"), prompt: question, output, maxRetries: 0 }).output,
        place,
      );
      const tools = { place: tool({ description: "A place.", inputSchema: schema }) };
      for (const model of [anthropic("coa"), openai.chat("coa"), openai.responses("coa")]) {
        const forced = {
          model,
          prompt: question,
          tools,
          toolChoice: { type: "tool", toolName: "place" },
          maxRetries: 0,
        };
        const { toolCalls } = await generateText(forced);
        assert.deepEqual(
          toolCalls.map(({ toolName, input }: Loose) => [toolName, input]),
          [["place", place]],
        );
      }
    });
  });
});
