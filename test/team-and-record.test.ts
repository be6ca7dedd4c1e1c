/** One team run, counted twice: by the team itself and by the recording proxy that all its model calls pass through. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { z } from "zod";
import type { ChatModel } from "../src/core/model.ts";
import { defineTask } from "../src/core/task.ts";
import type { TeamRun } from "../src/core/team-run.ts";
import { defineTool } from "../src/core/tool.ts";
import { distillRun } from "../src/distill/distill-run.ts";
import { codeProfile, multiProfile } from "../src/language/profiles.ts";
import { openaiCompatible } from "../src/models/openai-compatible.ts";
import { startProxy } from "../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../src/record/recordings.ts";
import { refusedForTraining } from "../src/record/trainable.ts";
import { runTeam, type TeamOptions } from "../src/team/run-team.ts";

const search = defineTool({
  name: "web_search",
  description: "Searches.",
  input: z.object({ query: z.string() }),
  run: ({ query }) => `page about ${query}: 山高八百一十二米`,
});

const code = defineTool({
  name: "code",
  description: "Run a program.",
  input: z.object({ code: z.string() }),
  run: (input) => (input.code.includes("13") ? "813" : "812"),
});

interface Asked {
  messages: { role: string; content: string; name?: string; tool_calls?: unknown[] }[];
  tools?: { function: { name: string } }[];
}

type Reply = { text: string; calls?: [name: string, input: object][] };

/** What each member says next: by its tools and by what stands in its history. */
function reply({ messages, tools = [] }: Asked, forgetful: boolean): Reply {
  const last = messages.at(-1)!;
  const text = messages.map((message) => message.content).join("\n");
  if (/Verifier, check/.test(last.content))
    return { text: forgetful ? "It is supported." : "Supported.\nThe score this time is:4" };
  if (/The score is missing/.test(last.content)) return { text: "The score this time is:4" };
  if (tools.some((tool) => tool.function.name === "web_search")) {
    if (last.role === "tool" && !/takes over/.test(last.content)) return { text: `found: ${last.content}` };
    const task = /north/.test(messages.findLast(({ role }) => role !== "tool")!.content) ? "north" : "south";
    return { text: "", calls: [["web_search", { query: task }]] };
  }
  const transfer = tools.some((tool) => tool.function.name.startsWith("transfer_to_"));
  const delegate = (task: string): [string, object] => [
    transfer ? "transfer_to_search_agent" : "search_agent",
    { task },
  ];
  if (/Write the plan/.test(last.content)) return { text: "1. search both sides" };
  if (/found:/.test(text)) return { text: "812" };
  return { text: "", calls: transfer ? [delegate("north")] : [delegate("north"), delegate("south")] };
}

const question = "How high is the mountain?";

/** A run of the team whose calls pass through the proxy, and the runs that the recording makes of them. */
async function twice(
  options: Partial<TeamOptions>,
  say: (asked: Asked, at: number) => Reply = (asked) => reply(asked, false),
  named = true,
): Promise<{ run: TeamRun; recorded: TeamRun[] }> {
  const folder = await mkdtemp(join(tmpdir(), "coa-two-roads-"));
  let served = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { text, calls = [] } = say(JSON.parse(body) as Asked, served);
    const id = ++served;
    const tool_calls = calls.map(([name, input], index) => ({
      id: `call-${id}-${index}`,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }));
    const message = { role: "assistant", content: text, ...(tool_calls.length > 0 && { tool_calls }) };
    // Not four characters to a token: the two must agree on the server's own count.
    const usage = { prompt_tokens: Math.round(body.length / 3), completion_tokens: text.length + 7 };
    const finish_reason = tool_calls.length > 0 ? "tool_calls" : "stop";
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: `r${id}`, choices: [{ index: 0, message, finish_reason }], usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const proxy = await startProxy({ to, folder });
  try {
    const model = openaiCompatible({ baseURL: named ? proxy.urlOf("one") : proxy.url, model: "m", server: "openai" });
    // An exact tokenizer of the model must not make another number than the recording can.
    const exact: ChatModel = { name: "m", chat: (request) => model.chat(request), countTokens: (text) => text.length };
    const task = defineTask({ id: "t1", question });
    const run = await runTeam(task, { roles: { default: exact }, tools: [search], ...options });
    await model.close();
    await proxy.close();
    return { run, recorded: await readRecordings(folder) };
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  }
}

for (const topology of ["agents-as-tools", "handoff"] as const) {
  describe(`a team's calls, ${topology}`, () => {
    it("have the same billed and computed tokens in the recording", async () => {
      const { run, recorded } = await twice({ topology });
      assert.equal(recorded.length, 1);
      const figures = ({ usage }: TeamRun) => {
        const { modelCalls, billedTokens, computedTokens, cachedTokens, toolCalls } = usage;
        return { modelCalls, billedTokens, computedTokens, cachedTokens, toolCalls };
      };
      assert.deepEqual(figures(recorded[0]!), figures(run));
      assert.ok(run.usage.computedTokens < run.usage.billedTokens);
    });

    it("become one run with the question, the answer and the agents, also where the verifier forgets its score once", async () => {
      for (const [forgetful, named] of [
        [false, true],
        [true, true],
        [false, false],
        [true, false],
      ] as const) {
        const { run, recorded } = await twice({ topology }, (asked) => reply(asked, forgetful), named);
        const about = ({ question: asked, answer, topology: how, agents, steps }: TeamRun) => ({
          ...{ asked, answer, how, agents: agents.map(({ name }) => name), moves: steps.map(({ move }) => move) },
        });
        assert.equal(run.answer, "812");
        assert.deepEqual(recorded.map(about), [about(run)]);
        assert.equal(recorded[0]!.completeness.untrainable, undefined);
        const chains = [run, recorded[0]!].map((one) => {
          const { trajectory } = distillRun(one, { profile: multiProfile, systemPrompt: false });
          return trajectory?.segments.map(({ tag, text }) => `${tag}: ${text}`);
        });
        assert.deepEqual(chains[1], chains[0]);
      }
    });
  });
}

describe("a small team's calls, in turn", () => {
  it("become one run with the question, the answer, the moves and the calls that were written as text", async () => {
    const wrong = "```python\nprint(800 + 13)\n```";
    const right = "I compute it.\n\n```python\nprint(800 + 12)\n```\nIt prints 799.";
    const agrees = "800 and 12 are 812.\nAnswer: 812";
    const searched = 'web_search(query="north")';
    const plan = "1. Look up the mountain\n2. Add both parts";
    for (const [tools, replies] of [
      [[code], [plan, right, "Answer: 812", agrees]],
      [[code], [plan, "Answer: 5", right, "The program printed it.", "Answer: 812", agrees]],
      [[code], [plan, wrong, "Answer: 813", agrees, right, "Answer: 812"]],
      [[code], [plan, right, "Answer: 812", "Answer: 7", wrong, "Answer: 813"]],
      [
        [search, code],
        [plan, searched, "The page says 800 and 12.", right, "Answer: 812", agrees],
      ],
    ] as const) {
      for (const named of [true, false]) {
        const { run, recorded } = await twice(
          { topology: "in-turn", tools },
          (_asked, at) => ({ text: replies[at]! }),
          named,
        );
        const about = ({ question: asked, answer, topology: how, agents, steps }: TeamRun) => ({
          // What the planner is told does not name it.
          ...{ asked, answer, how, agents: agents.slice(1).map(({ name }) => name) },
          moves: steps.map(({ move }) => move),
          calls: steps.flatMap(({ toolCalls }) => toolCalls.map((call) => [call.name, call.arguments, call.result])),
        });
        assert.equal(run.answer, "812");
        assert.deepEqual(recorded.map(about), [about(run)]);
        assert.equal(refusedForTraining(recorded[0]!), null);
        const profile = tools.length === 1 ? codeProfile : multiProfile;
        const chains = [run, recorded[0]!].map((one) => {
          const { trajectory } = distillRun(one, { profile, systemPrompt: false });
          return trajectory?.segments.map(({ tag, text }) => `${tag}: ${text}`);
        });
        assert.deepEqual(chains[1], chains[0]);
      }
    }
  });
});
