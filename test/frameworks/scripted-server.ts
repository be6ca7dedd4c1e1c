/**
 * A real HTTP server that plays the model of a manager, a search agent and a code agent, by instructions and turn, in
 * every API that the recorder knows: the path says which.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { apiOf } from "../../src/base/wire/apis.ts";
import { writeEvents, writeReply } from "../../src/base/wire/reply-writer.ts";
import { frameEvent, type WireReply, type WireRequest } from "../../src/base/wire/wire-api.ts";
import { asObject } from "../../src/core/json-value.ts";
import { streamType } from "../fixtures/wire-requests.ts";

interface Turn {
  text: string;
  call?: Call;
  /** Several calls at once. */
  calls?: Call[];
}

type Call = [name: string, input: Record<string, string> | string];

const scripts: Record<string, Turn[]> = {
  manager: [
    { text: "Plan: search, compute, verify.", call: ["search_agent", "Find the launch year of the telescope."] },
    { text: "Now compute.", call: ["code_agent", "Compute 1990*3-17."] },
    { text: "Verify.", call: ["search_agent", "Verify that the launch year is 1990."] },
    { text: "Answer: 1990, 5953." },
  ],
  search: [
    { text: "Search first.", call: ["web_search", { query: "telescope launch year" }] },
    { text: "It was launched in 1990 (example.org)." },
  ],
  code: [{ text: "Run code.", call: ["run_code", { code: "1990*3-17" }] }, { text: "The result is 5953." }],
  // Sub-agents chosen by an argument.
  dmanager: [
    {
      text: "Plan.",
      call: ["task", { description: "Find the launch year of the telescope.", subagent_type: "search_agent" }],
    },
    { text: "Now compute.", call: ["task", { description: "Compute 1990*3-17.", subagent_type: "code_agent" }] },
    {
      text: "Verify.",
      call: ["task", { description: "Verify that the launch year is 1990.", subagent_type: "search_agent" }],
    },
    { text: "Answer: 1990, 5953." },
  ],
  // Two workers at the same time.
  pmanager: [
    {
      text: "Both at once.",
      calls: [
        ["search_agent", "Find the launch year of the telescope."],
        ["code_agent", "Compute 1990*3-17."],
      ],
    },
    { text: "Answer: 1990, 5953." },
  ],
  pdmanager: [
    {
      text: "Both at once.",
      calls: [
        ["task", { description: "Find the launch year of the telescope.", subagent_type: "search_agent" }],
        ["task", { description: "Compute 1990*3-17.", subagent_type: "code_agent" }],
      ],
    },
    { text: "Answer: 1990, 5953." },
  ],
  // One history for all: whoever speaks, the turn says what comes next.
  hmanager: [
    { text: "Plan: search, compute.", call: ["transfer_to_search", {}] },
    { text: "", call: ["never", {}] },
    { text: "", call: ["never", {}] },
    { text: "Now compute.", call: ["transfer_to_code", {}] },
    { text: "", call: ["never", {}] },
    { text: "", call: ["never", {}] },
    { text: "Answer: 1990, 5953." },
  ],
  hsearch: [
    { text: "", call: ["never", {}] },
    { text: "Search.", call: ["web_search", { query: "telescope launch year" }] },
    { text: "Found 1990.", call: ["transfer_to_manager", {}] },
  ],
  hcode: [
    ...Array.from({ length: 4 }, (): Turn => ({ text: "", call: ["never", {}] })),
    { text: "Run code.", call: ["run_code", { code: "1990*3-17" }] },
    { text: "It is 5953.", call: ["transfer_to_manager", {}] },
  ],
};

export interface Script {
  /** The manager asks both workers at once. */
  parallel?: boolean;
  /** Each reply of a worker has a number of its own, so that it can be told who read it. */
  numbered?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: chunks of another API, as they are on the wire
const partsOf = (event: any): any[] => event?.candidates?.[0]?.content?.parts ?? [];

/** Gemini sends calls that are made side by side in one chunk, and clients carry a chunk's calls out before they read on. */
function callsTogether(events: readonly unknown[]): unknown[] {
  const joined: unknown[] = [];
  for (const event of events) {
    const last = partsOf(joined.at(-1));
    const isCall = (parts: { functionCall?: unknown }[]) =>
      parts.length > 0 && parts.every((part) => part.functionCall);
    if (isCall(last) && isCall(partsOf(event))) last.push(...partsOf(event));
    else joined.push(event);
  }
  return joined;
}

/** Starts the server; each answer comes over several turns of the event loop, so that runs interleave. */
export async function startScriptedServer(script: Script = {}): Promise<{
  url: string;
  origin: string;
  count(): number;
  close(): Promise<void>;
}> {
  let served = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const path = request.url ?? "/";
    const body = asObject(text === "" ? {} : JSON.parse(text)) ?? {};
    const api = request.method === "POST" ? apiOf(path, body) : undefined;
    if (!api) return void response.writeHead(200, { "content-type": "application/json" }).end("{}");
    const id = ++served;
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    const asked = api.readRequest(body, path);
    const reply = replyTo(asked, id, script);
    if (!asked.stream) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(writeReply(api, reply)));
      return;
    }
    response.writeHead(200, { "content-type": streamType(api) });
    const events = writeEvents(api, reply, reply.text.split(/(?<= )/));
    for (const event of api.name === "gemini" ? callsTogether(events) : events) response.write(frameEvent(api, event));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    origin,
    count: () => served,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What the script says; ten tokens for each message and five for the reply. */
function replyTo(asked: WireRequest, id: number, script: Script): WireReply {
  const { messages } = asked;
  const system = messages.find((message) => message.role === "system")?.content ?? "";
  const told = /You are the (\w+)/.exec(system)?.[1] ?? "manager";
  const who = script.parallel && /^d?manager$/.test(told) ? `p${told}` : told;
  // Workers with a memory begin anew with each task; a reply may be repeated as two messages, its text and its calls.
  const roles = messages.slice(messages.findLastIndex((message) => message.role === "user")).map(({ role }) => role);
  const turn = roles.filter((one, index) => one === "assistant" && roles[index - 1] !== "assistant").length;
  const { text, call, calls = call ? [call] : [] } = scripts[who]?.[turn] ?? { text: `no script for ${who} ${turn}` };
  const toolCalls = calls.map((one, index) => ({
    id: `call_${id}_${index}`,
    name: one[0],
    arguments: argumentsOf(asked, one),
  }));
  return {
    text: script.numbered && /^(?:search|code)$/.test(who) ? `${text} (${id})` : text,
    toolCalls,
    finish: toolCalls.length > 0 ? "tool_calls" : "stop",
    finished: true,
    usage: { promptTokens: messages.length * 10, completionTokens: 5 },
    responseId: `reply-${id}`,
    model: "scripted",
  };
}

/** Frameworks call the input of an agent-as-tool differently; the schema says how. */
function argumentsOf({ tools }: WireRequest, [name, input]: Call): string {
  if (typeof input !== "string") return JSON.stringify(input);
  const schema = asObject(tools.find((tool) => tool.name === name)?.parameters);
  return JSON.stringify({ [Object.keys(asObject(schema?.["properties"]) ?? { task: 0 })[0]!]: input });
}
