/** The model server of the benchmark, in a process of its own: small answers, and streams that all stay open together. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const answer = JSON.stringify({
  id: "r",
  choices: [{ index: 0, message: { role: "assistant", content: "yes ".repeat(50) }, finish_reason: "stop" }],
  usage: { prompt_tokens: 100, completion_tokens: 50 },
});
const waiting: ServerResponse[] = [];

const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = JSON.parse(text) as { stream?: boolean; together?: number };
  if (!body.stream) {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    response.end(answer);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event("first "));
  waiting.push(response);
  // No stream continues before all of them are open.
  if (waiting.length === body.together) for (const stream of waiting.splice(0)) finish(stream);
});

function event(content: string): string {
  return `data: ${JSON.stringify({ id: "s", choices: [{ index: 0, delta: { content } }] })}\n\n`;
}

function finish(response: ServerResponse): void {
  for (let piece = 0; piece < 20; piece++) response.write(event(`piece ${piece} `));
  response.end("data: [DONE]\n\n");
}

server.listen(0, "127.0.0.1", 4096, () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`));
