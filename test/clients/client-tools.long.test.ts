/**
 * Tool loops of real clients against `coa serve`: three steps, of which two are calls of the client's own tools. Each is run
 * with what is stored, with nothing stored, and with a server that is killed and started again before each result.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { type Trajectory, writtenForm } from "../../src/core/trajectory.ts";
import { type ModelServer, startModelServer } from "../fixtures/model-server.ts";

const installed = existsSync(join(import.meta.dirname, "node_modules/openai"));
const skip = installed ? false : "install the frameworks first: npm install --prefix test/clients";
// biome-ignore lint/suspicious/noExplicitAny: clients whose types are not installed with the package
type Loose = any;
const load = (name: string): Promise<Loose> => import(name);

const question = "What does Ada's order cost?";
const outputs: Record<string, string> = { Ada: "3 lamps", Bob: "one desk" };
const parameters = { type: "object", properties: { query: { type: "string" } }, required: ["query"] };
const description = "Find an order of a customer.";
const messages = [{ role: "user" as const, content: question }];

describe("tool loops of real clients", { skip }, () => {
  let folder: string;
  let upstream: ModelServer;
  let server: ChildProcess | undefined;
  let port: number;
  let origin: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-loops-"));
    await mkdir(join(folder, "docs"));
    await writeFile(join(folder, "docs/prices.md"), "A lamp costs 4 each.");
    upstream = await startModelServer({
      models: { data: [{ id: "scripted", max_model_len: 32_768 }] },
      answer({ body }) {
        const said = JSON.stringify(body["messages"]);
        if (said.includes("one desk")) return "<think>known</think><answer>12</answer>";
        if (said.includes("4 each")) return "<think>more</think><find_order>Bob</find_order>";
        if (said.includes("3 lamps")) return "<think>again</think><wiki_search>price of a lamp</wiki_search>";
        return "<think>first</think><find_order>Ada</find_order>";
      },
    });
    const probe = createServer().listen(0, "127.0.0.1");
    await once(probe, "listening");
    port = (probe.address() as { port: number }).port;
    await new Promise((resolve) => probe.close(resolve));
    await start();
  });
  after(async () => {
    await stop();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(): Promise<void> {
    const cli = join(import.meta.dirname, "../../src/cli/main.ts");
    const flags = [
      "--base-url",
      upstream.url,
      "--model",
      "scripted",
      "--profile",
      "mhqa",
      "--docs",
      join(folder, "docs"),
    ];
    const more = [
      "--port",
      String(port),
      "--set",
      `serve.state=${join(folder, "state")}`,
      "--keep",
      join(folder, "kept.jsonl"),
    ];
    server = spawn(process.execPath, [cli, "serve", ...flags, ...more], {
      env: { ...process.env, COA_HOME: folder, COA_API_KEY: "sk-loop-key" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: server.stdout! })) {
      origin = /^ready (http:\S+)$/.exec(line)?.[1] ?? "";
      if (origin) return;
    }
    throw new Error("the server did not start");
  }
  async function stop(): Promise<void> {
    if (!server) return;
    server.kill("SIGKILL");
    if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
    server = undefined;
  }

  /** The client's tool; where asked, the server dies and comes back before the result is there. */
  const findOrder = (killed: boolean, calls: string[]) => async (input: { query: string } | string) => {
    const { query } = typeof input === "string" ? JSON.parse(input) : input;
    calls.push(query);
    if (killed) {
      await stop();
      await start();
    }
    return outputs[query]!;
  };

  /** The AI SDK runs a tool before the reply has ended: a kill then would cut the reply instead of coming after it. */
  const whole: typeof fetch = async (...request) => {
    const reply = await fetch(...request);
    return new Response(await reply.arrayBuffer(), reply);
  };

  const apiKey = "sk-loop-key";
  type Run = (run: (input: Loose) => Promise<string>, store: boolean) => Promise<string>;
  const clients: Record<string, Run> = {
    async "openai chat"(run, store) {
      const { default: OpenAI } = await load("openai");
      const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
      const tools = [{ type: "function", function: { name: "find_order", description, parameters } }];
      const said: Loose[] = [...messages];
      for (let step = 0; step < 5; step++) {
        const stream = client.chat.completions.stream({ model: "coa", messages: said, tools, store });
        const { message, finish_reason } = (await stream.finalChatCompletion()).choices[0];
        if (!message.tool_calls?.length) return message.content;
        assert.equal(finish_reason, "tool_calls");
        said.push(message);
        for (const { id, function: called } of message.tool_calls)
          said.push({ role: "tool", tool_call_id: id, content: await run(called.arguments) });
      }
      return "no end";
    },
    async "openai responses"(run, store) {
      const { default: OpenAI } = await load("openai");
      const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
      const tools = [{ type: "function", name: "find_order", description, parameters, strict: false }];
      let sent: Loose = store
        ? { input: question }
        : { input: [...messages], include: ["reasoning.encrypted_content"] };
      for (let step = 0; step < 5; step++) {
        const stream = client.responses.stream({ model: "coa", tools, store, ...sent });
        const response = await stream.finalResponse();
        const call = response.output.find((item: Loose) => item.type === "function_call");
        if (!call) return response.output_text;
        const output = { type: "function_call_output", call_id: call.call_id, output: await run(call.arguments) };
        sent = store
          ? { previous_response_id: response.id, input: [output] }
          : { ...sent, input: [...sent.input, ...response.output, output] };
      }
      return "no end";
    },
    async "LangChain chat"(run) {
      const { ChatOpenAI } = await load("@langchain/openai");
      const model = new ChatOpenAI({ model: "coa", apiKey, configuration: { baseURL: `${origin}/v1` }, maxRetries: 0 });
      const bound = model.bindTools([{ type: "function", function: { name: "find_order", description, parameters } }]);
      const said: Loose[] = [...messages];
      for (let step = 0; step < 5; step++) {
        const reply = await bound.invoke(said);
        if (!reply.tool_calls?.length) return reply.text;
        said.push(reply);
        for (const { id, args } of reply.tool_calls)
          said.push({ role: "tool", tool_call_id: id, content: await run(args) });
      }
      return "no end";
    },
    async "AI SDK responses"(run, store) {
      const { createOpenAI } = await load("@ai-sdk/openai");
      return generate(createOpenAI({ baseURL: `${origin}/v1`, apiKey, fetch: whole }).responses("coa"), run, {
        openai: { store },
      });
    },
    async "AI SDK openai-compatible"(run) {
      const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
      return generate(
        createOpenAICompatible({ name: "coa", baseURL: `${origin}/v1`, apiKey, fetch: whole })("coa"),
        run,
      );
    },
    async "AI SDK anthropic"(run) {
      const { createAnthropic } = await load("@ai-sdk/anthropic");
      return generate(createAnthropic({ baseURL: `${origin}/v1`, apiKey, fetch: whole })("coa"), run);
    },
    async "Anthropic messages"(run) {
      const { default: Anthropic } = await load("@anthropic-ai/sdk");
      const client = new Anthropic({ baseURL: origin, apiKey, maxRetries: 0 });
      const tools = [{ name: "find_order", description, input_schema: parameters }];
      const said: Loose[] = [...messages];
      for (let step = 0; step < 5; step++) {
        const stream = client.messages.stream({ model: "coa", max_tokens: 2000, messages: said, tools });
        const { role, content, stop_reason } = await stream.finalMessage();
        if (stop_reason !== "tool_use") return content.at(-1).text;
        const uses = content.filter((block: Loose) => block.type === "tool_use");
        const results: Loose[] = [];
        for (const { id, input } of uses)
          results.push({ type: "tool_result", tool_use_id: id, content: await run(input) });
        said.push({ role, content }, { role: "user", content: results });
      }
      return "no end";
    },
  };

  async function generate(
    model: Loose,
    run: (input: Loose) => Promise<string>,
    providerOptions?: Loose,
  ): Promise<string> {
    const { jsonSchema, stepCountIs, streamText, tool } = await load("ai");
    const tools = { find_order: tool({ description, inputSchema: jsonSchema(parameters), execute: run }) };
    const streamed = streamText({
      model,
      prompt: question,
      tools,
      stopWhen: stepCountIs(5),
      maxRetries: 0,
      providerOptions,
    });
    const text = await streamed.text;
    assert.equal((await streamed.steps).length, 3);
    return text;
  }

  for (const [name, run] of Object.entries(clients)) {
    for (const [how, store, killed] of [
      ["stored", true, false],
      ["not stored", false, false],
      ["stored, with kill -9 before each result", true, true],
      ["not stored, with kill -9 before each result", false, true],
    ] as const) {
      it(`${name}, ${how}`, async () => {
        const calls: string[] = [];
        assert.equal(await run(findOrder(killed, calls), store), "12");
        assert.deepEqual(calls, ["Ada", "Bob"]);
      });
    }
  }

  it("left chains that are all the same, token by token where they were not put together again", async () => {
    const kept = await readAllJsonl<Trajectory>(join(folder, "kept.jsonl"));
    const texts = new Set(kept.map(({ segments }) => segments.map(writtenForm).join("")));
    assert.equal(texts.size, 1, [...texts].join("\n\n"));
    assert.ok(kept.length >= 12);
  });
});
