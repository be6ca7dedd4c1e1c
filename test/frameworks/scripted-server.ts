/** A real HTTP server that plays the model of a manager, a search agent and a code agent: by instructions and turn. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Turn {
  text: string;
  call?: [name: string, input: Record<string, string> | string];
}

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

interface Body {
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string; parameters: { properties: Record<string, unknown> } } }[];
  stream?: boolean;
}

/** Starts the server; each answer comes over several turns of the event loop, so that runs interleave. */
export async function startScriptedServer(): Promise<{ url: string; count(): number; close(): Promise<void> }> {
  let served = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (!request.url?.endsWith("/chat/completions")) return void response.writeHead(200).end("{}");
    const id = ++served;
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    reply(JSON.parse(text) as Body, id, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    count: () => served,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function reply(body: Body, id: number, response: ServerResponse): void {
  const system = String(body.messages.find((message) => message.role === "system")?.content ?? "");
  const role = /You are the (\w+)/.exec(system)?.[1] ?? "manager";
  const turn = body.messages.filter((message) => message.role === "assistant").length;
  const { text, call } = scripts[role]![turn]!;
  const calls = call && [
    { id: `call_${id}`, type: "function", function: { name: call[0], arguments: argumentsOf(body, call) } },
  ];
  const meta = { id: `chatcmpl-${id}`, object: "chat.completion", created: 1, model: "scripted" };
  const usage = {
    prompt_tokens: body.messages.length * 10,
    completion_tokens: 5,
    total_tokens: body.messages.length * 10 + 5,
  };
  const finish = calls ? "tool_calls" : "stop";
  if (!body.stream) {
    const message = { role: "assistant", content: text, ...(calls && { tool_calls: calls }) };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...meta, choices: [{ index: 0, message, finish_reason: finish }], usage }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ ...meta, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    );
  send({ role: "assistant", content: "" });
  for (const word of text.split(/(?<= )/)) send({ content: word });
  if (calls) send({ tool_calls: calls.map((one, index) => ({ index, ...one })) });
  send({}, finish);
  response.write(`data: ${JSON.stringify({ ...meta, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
  response.end("data: [DONE]\n\n");
}

/** Frameworks call the input of an agent-as-tool differently; the schema says how. */
function argumentsOf(body: Body, [name, input]: NonNullable<Turn["call"]>): string {
  if (typeof input !== "string") return JSON.stringify(input);
  const tool = body.tools?.find((one) => one.function.name === name);
  return JSON.stringify({ [Object.keys(tool?.function.parameters.properties ?? { task: 0 })[0]!]: input });
}
