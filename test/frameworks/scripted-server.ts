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
    const responses = request.url?.endsWith("/responses") === true;
    if (!responses && !request.url?.endsWith("/chat/completions")) return void response.writeHead(200).end("{}");
    const id = ++served;
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (responses) replyAsResponse(JSON.parse(text) as ResponsesBody, id, response);
    else reply(JSON.parse(text) as Body, id, response);
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

interface ResponsesBody {
  instructions: string;
  input: string | { type?: string }[];
  tools?: { name: string; parameters: { properties: Record<string, unknown> } }[];
  stream?: boolean;
}

/** The same scripts in OpenAI's newer dialect. */
function replyAsResponse(body: ResponsesBody, id: number, response: ServerResponse): void {
  const role = /You are the (\w+)/.exec(body.instructions)?.[1] ?? "manager";
  const items = typeof body.input === "string" ? [] : body.input;
  const turn = items.filter((item) => item.type === "function_call").length;
  const { text, call } = scripts[role]![turn]!;
  const tools = body.tools?.map((one) => ({ function: one }));
  const content = [{ type: "output_text", text, annotations: [] }];
  const output: object[] = [{ type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content }];
  if (call) {
    const written = argumentsOf({ messages: [], ...(tools && { tools }) }, call);
    output.push({
      type: "function_call",
      id: `fc_${id}`,
      call_id: `call_${id}`,
      name: call[0],
      arguments: written,
      status: "completed",
    });
  }
  // Ten tokens for the instructions and for each message; the two items of a turn are one message.
  const messages = 1 + (typeof body.input === "string" ? 1 : items.length - turn);
  const usage = {
    input_tokens: messages * 10,
    output_tokens: 5,
    total_tokens: messages * 10 + 5,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const whole = {
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    model: "scripted",
    status: "completed",
    output,
    usage,
  };
  if (!body.stream) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(whole));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (type: string, rest: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  send("response.created", { response: { ...whole, status: "in_progress", output: [] }, sequence_number: 0 });
  send("response.output_text.delta", {
    item_id: `msg_${id}`,
    output_index: 0,
    content_index: 0,
    delta: text,
    sequence_number: 1,
  });
  send("response.completed", { response: whole, sequence_number: 2 });
  response.end();
}

/** Frameworks call the input of an agent-as-tool differently; the schema says how. */
function argumentsOf(body: Body, [name, input]: NonNullable<Turn["call"]>): string {
  if (typeof input !== "string") return JSON.stringify(input);
  const tool = body.tools?.find((one) => one.function.name === name);
  return JSON.stringify({ [Object.keys(tool?.function.parameters.properties ?? { task: 0 })[0]!]: input });
}
