/** One team run, counted twice: by the team itself and by the recording proxy that all its model calls pass through. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { z } from "zod";
import type { ChatModel } from "../src/core/model.ts";
import { defineTask } from "../src/core/task.ts";
import { defineTool } from "../src/core/tool.ts";
import { openaiCompatible } from "../src/models/openai-compatible.ts";
import { startProxy } from "../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../src/record/recordings.ts";
import { runTeam } from "../src/team/run-team.ts";

const search = defineTool({
  name: "web_search",
  description: "Searches.",
  input: z.object({ query: z.string() }),
  run: ({ query }) => `page about ${query}: 山高八百一十二米`,
});

interface Asked {
  messages: { role: string; content: string }[];
}

/** What each member says next: by its instructions, and by how many replies stand in its history. */
function reply({ messages }: Asked): { text: string; calls?: [name: string, input: object][] } {
  const turn = messages.filter((message) => message.role === "assistant").length;
  const text = messages.map((message) => message.content).join("\n");
  if (/Verifier, check/.test(messages.at(-1)!.content)) return { text: "Supported.\nThe score this time is:4" };
  if (/^(?:north|south)/m.test(messages[1]!.content)) {
    if (turn === 0) return { text: "", calls: [["web_search", { query: messages[1]!.content }]] };
    return { text: `found: ${messages.at(-1)!.content}` };
  }
  const delegate = (task: string): [string, object] => ["search_agent", { task }];
  if (turn === 0) return { text: "1. search both sides" };
  if (turn === 1) return { text: "", calls: [delegate("north"), delegate("south")] };
  assert.match(text, /found:/);
  return { text: "812" };
}

it("counts the same billed and computed tokens as the recording of its calls", async () => {
  const folder = await mkdtemp(join(tmpdir(), "coa-two-roads-"));
  let served = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { text, calls = [] } = reply(JSON.parse(body) as Asked);
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
    const model = openaiCompatible({ baseURL: proxy.urlOf("one"), model: "m", server: "openai" });
    // An exact tokenizer of the model must not make another number than the recording can.
    const exact: ChatModel = { name: "m", chat: (request) => model.chat(request), countTokens: (text) => text.length };
    const task = defineTask({ id: "t1", question: "How high is the mountain?" });
    const run = await runTeam(task, { roles: { default: exact }, tools: [search] });
    assert.equal(run.answer, "812");
    await model.close();
    await proxy.close();
    const [recorded, ...others] = await readRecordings(folder);
    assert.equal(others.length, 0);
    const figures = ({ usage }: typeof run) => {
      const { modelCalls, billedTokens, computedTokens, cachedTokens, toolCalls } = usage;
      return { modelCalls, billedTokens, computedTokens, cachedTokens, toolCalls };
    };
    assert.deepEqual(figures(recorded!), figures(run));
    assert.ok(run.usage.computedTokens < run.usage.billedTokens);
  } finally {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  }
});
