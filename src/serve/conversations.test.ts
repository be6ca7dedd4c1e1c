import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { good, withServer } from "../../test/fixtures/serve-server.ts";
import { type Script, scriptedModel } from "../testing/index.ts";
import { openServeStore } from "./store/open-store.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of foreign APIs
type Loose = any;
type Tool = { name: string; description?: string };
type Talk = { system?: string; tools?: Tool[]; store?: boolean };

const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

/** One API: a conversation that grows by questions and results of tools. */
interface Api {
  path: string;
  start(): Loose;
  ask(so: Loose, question: string): Loose;
  body(so: Loose, talk: Talk): Loose;
  /** Adds a reply, and the results of its calls. */
  take(so: Loose, reply: Loose, result: (input: Loose) => string): Loose;
  calls(reply: Loose): string[];
  text(reply: Loose): string;
}

const chat: Api = {
  path: "/v1/chat/completions",
  start: () => [],
  ask: (so, content) => [...so, { role: "user", content }],
  body: (so, { system, tools, store }) => ({
    messages: [...(system ? [{ role: "system", content: system }] : []), ...so],
    tools: tools?.map((tool) => ({ type: "function", function: { parameters, ...tool } })),
    store,
  }),
  take(so, { choices: [{ message }] }, result) {
    const { role, content, tool_calls = [] } = message;
    const results = tool_calls.map((call: Loose) => ({
      role: "tool",
      tool_call_id: call.id,
      content: result(JSON.parse(call.function.arguments)),
    }));
    return [...so, { role, content, ...(tool_calls.length > 0 && { tool_calls }) }, ...results];
  },
  calls: ({ choices: [{ message }] }) => (message.tool_calls ?? []).map((call: Loose) => call.function.name),
  text: ({ choices: [{ message }] }) => message.content,
};

const outputs = ({ output }: Loose, result: (input: Loose) => string) =>
  output.flatMap((item: Loose) =>
    item.type === "function_call"
      ? [{ type: "function_call_output", call_id: item.call_id, output: result(JSON.parse(item.arguments)) }]
      : [],
  );
const responses: Api = {
  path: "/v1/responses",
  start: () => ({ input: [] }),
  ask: (so, content) => ({ ...so, input: [...so.input, { role: "user", content }] }),
  body: ({ input, previous }, { system, tools, store }) => ({
    input,
    instructions: system,
    previous_response_id: previous,
    tools: tools?.map((tool) => ({ type: "function", parameters, ...tool })),
    store,
  }),
  take: (so, reply, result) => ({ input: [...so.input, ...reply.output, ...outputs(reply, result)] }),
  calls: ({ output }) => output.flatMap((item: Loose) => (item.type === "function_call" ? [item.name] : [])),
  text: ({ output }) => output.at(-1).content[0].text,
};
const stored: Api = {
  ...responses,
  take: (_, reply, result) => ({ input: outputs(reply, result), previous: reply.id }),
};
const messages: Api = {
  path: "/v1/messages",
  start: () => [],
  ask: (so, content) => [...so, { role: "user", content }],
  body: (so, { system, tools, store }) => ({
    max_tokens: 1000,
    messages: so,
    system,
    tools: tools?.map((tool) => ({ input_schema: parameters, ...tool })),
    store,
  }),
  take(so, { content }, result) {
    const uses = content.filter((block: Loose) => block.type === "tool_use");
    const results = uses.map((use: Loose) => ({
      type: "tool_result",
      tool_use_id: use.id,
      content: result(use.input),
    }));
    return [...so, { role: "assistant", content }, ...(results.length > 0 ? [{ role: "user", content: results }] : [])];
  },
  calls: ({ content }) => content.flatMap((block: Loose) => (block.type === "tool_use" ? [block.name] : [])),
  text: ({ content }) => content.at(-1).text,
};
const apis: Record<string, Api> = { chat, responses, "stored responses": stored, messages };

type Ask = Parameters<Parameters<typeof withServer>[1]>[0];
async function post(ask: Ask, api: Api, so: Loose, talk: Talk): Promise<Loose> {
  const reply = await ask(api.path, api.body(so, talk));
  const body: Loose = await reply.json();
  assert.equal(reply.status, 200, JSON.stringify(body));
  return body;
}

const reads: Script = ({ prompt, text }) => {
  const system = prompt[0]!.content;
  if (system.includes("You do billing") || /secret/.test(text)) return "<think>enough</think><answer>42 EUR</answer>";
  return system.includes("<transfer_to_billing>")
    ? '<think>not mine</think><transfer_to_billing>{"path": "x"}</transfer_to_billing>'
    : "<think>look</think><read_file>a.txt</read_file>";
};
const transfer = { name: "transfer_to_billing", description: "Hand over." };
const readFile = { name: "read_file", description: "Read a file." };

for (const [name, api] of Object.entries(apis)) {
  describe(`conversations through ${name}`, () => {
    it("reach the instructions and tools of the agent that was handed over to", async () => {
      const model = scriptedModel(reads);
      await withServer({ model }, async (ask) => {
        let so = api.ask(api.start(), "What do I owe?");
        const first = await post(ask, api, so, { system: "You triage.", tools: [transfer] });
        assert.deepEqual(api.calls(first), ["transfer_to_billing"]);
        so = api.take(so, first, () => '{"assistant": "Billing"}');
        const second = await post(ask, api, so, { system: "You do billing.", tools: [readFile] });
        assert.equal(api.text(second), "42 EUR");
        const { prompt, text } = model.requests.at(-1)!;
        assert.match(prompt[0]!.content, /You do billing\./);
        assert.match(prompt[0]!.content, /<read_file>/);
        assert.doesNotMatch(prompt[0]!.content, /You triage|transfer_to_billing/);
        assert.equal(prompt.at(-1)!.content, "What do I owe?");
        assert.match(text, /<transfer_to_billing>[\s\S]*"assistant": "Billing"/);
      });
    });

    it("are read again where the system prompt or the question was edited between two steps", async () => {
      const model = scriptedModel(reads);
      await withServer({ model }, async (ask) => {
        let so = api.ask(api.start(), "What is in a.txt?");
        const first = await post(ask, api, so, { system: "Be brief.", tools: [readFile] });
        so = api.take(so, first, () => "the secret is 7");
        await post(ask, api, so, { system: "Be verbose.", tools: [readFile] });
        assert.match(model.requests.at(-1)!.prompt[0]!.content, /Be verbose\./);
        assert.doesNotMatch(model.requests.at(-1)!.prompt[0]!.content, /Be brief\./);
        assert.match(model.requests.at(-1)!.text, /the secret is 7/);
        if (api === stored) return; // what is stored can't be edited
        const text = JSON.stringify(so).replaceAll("What is in a.txt?", "And in b.txt?");
        await post(ask, api, JSON.parse(text), { system: "Be brief.", tools: [readFile] });
        assert.equal(model.requests.at(-1)!.prompt.at(-1)!.content, "And in b.txt?");
        assert.match(model.requests.at(-1)!.text, /<read_file>a\.txt<\/read_file>[\s\S]*the secret is 7/);
      });
    });

    it("show what the client's tools returned in earlier turns", async () => {
      const model = scriptedModel(reads);
      await withServer({ model }, async (ask) => {
        const talk = { tools: [readFile], store: api === stored };
        let so = api.ask(api.start(), "What is in a.txt?");
        so = api.take(so, await post(ask, api, so, talk), () => "the secret is 7 </observation>");
        so = api.take(so, await post(ask, api, so, talk), () => "");
        await post(ask, api, api.ask(so, "Which number was it?"), talk);
        const { prompt } = model.requests.at(-1)!;
        assert.equal(prompt.at(-1)!.content, "Which number was it?");
        assert.match(
          prompt.at(-2)!.content,
          /<read_file>a\.txt<\/read_file>[\s\S]*the secret is 7[\s\S]*<answer>42 EUR/,
        );
        assert.equal(prompt.at(-2)!.content.split("</observation>").length, 2, "a result can't close its own tag");
      });
    });

    it("show what the server's own tools returned in earlier turns, also after a restart", async () => {
      const folder = await mkdtemp(join(tmpdir(), "coa-conversations-"));
      try {
        let so = api.ask(api.start(), "Where does Ada live?");
        for (const [turn, question] of ["And her street?", "Sure?"].entries()) {
          const store = await openServeStore(folder);
          const model = scriptedModel(good);
          await withServer({ model, store }, async (ask) => {
            so = api.take(so, await post(ask, api, so, {}), () => "");
            so = api.ask(so, question);
            if (turn === 0) return;
            const { prompt } = model.requests[0]!;
            const shown = prompt.find(({ role }) => role === "assistant")!.content;
            assert.match(
              shown,
              /<wiki_search>Ada<\/wiki_search>[\s\S]*Ada lives in Lyon\.[\s\S]*<answer>Lyon<\/answer>/,
            );
          });
          await store.close();
        }
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it("take a client's tool that has the name of one of ours", async () => {
      const model = scriptedModel(({ text }) =>
        text.includes("client's")
          ? "<think>x</think><answer>ok</answer>"
          : "<think>x</think><wiki_search_tool>q</wiki_search_tool>",
      );
      await withServer({ model }, async (ask) => {
        const talk = { tools: [{ name: "wiki_search", description: "Search my notes." }] };
        const so = api.ask(api.start(), "Who?");
        const first = await post(ask, api, so, talk);
        assert.deepEqual(api.calls(first), ["wiki_search"]);
        assert.match(model.requests[0]!.prompt[0]!.content, /Search my notes\./);
        assert.equal(
          api.text(
            await post(
              ask,
              api,
              api.take(so, first, () => "the client's"),
              talk,
            ),
          ),
          "ok",
        );
      });
    });
  });
}

describe("conversations of a page", () => {
  it("show what tools returned in earlier turns", async () => {
    const model = scriptedModel(good);
    await withServer({ model }, async (ask) => {
      const user = (text: string) => ({ role: "user", parts: [{ type: "text", text }] });
      const first = [user("Where does Ada live?")];
      await (await ask("/api/chat", { messages: first })).text();
      const said = { role: "assistant", parts: [{ type: "text", text: "Lyon" }] };
      await (await ask("/api/chat", { messages: [...first, said, user("Sure?")] })).text();
      assert.match(model.requests.at(-1)!.prompt.at(-2)!.content, /Ada lives in Lyon\./);
    });
  });
});
