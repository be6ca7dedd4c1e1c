/**
 * A real HTTP server on loopback that speaks the OpenAI protocol and misbehaves on request: errors, rate limits, streams
 * cut in the middle, malformed JSON, silence. It keeps a log of what it was asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Tokenizer } from "../core/tokenizer.ts";

/** How one request is mistreated. */
export type Fault = "none" | "error-500" | "rate-limit" | "cut" | "malformed" | "stall" | "reset";

export interface ServedRequest {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

export interface ModelServerOptions {
  /** The text to answer with; stop strings are honoured, and left out as most servers do. */
  answer(request: ServedRequest, index: number): string;
  fault?(request: ServedRequest, index: number): Fault;
  /** What `GET /v1/models` says; 404 where absent. */
  models?: unknown;
  /** Keep the stop string in the text, as vLLM can. */
  keepStop?: boolean;
  chunkSize?: number;
  /** Return token ids and log-probabilities where a request asks for them, one token to a chunk. */
  tokenizer?: Tokenizer;
}

export interface ModelServer {
  /** With `/v1`. */
  url: string;
  requests: ServedRequest[];
  close(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const requests: ServedRequest[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      response.writeHead(options.models ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(options.models ?? { error: { message: "not found" } }));
      return;
    }
    let raw = "";
    for await (const chunk of request) raw += chunk;
    const served: ServedRequest = { path: request.url ?? "", headers: request.headers, body: JSON.parse(raw) };
    const index = requests.push(served) - 1;
    try {
      await reply(options, served, index, response);
    } catch (error) {
      response.destroy(error as Error);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function reply(
  options: ModelServerOptions,
  served: ServedRequest,
  index: number,
  response: ServerResponse,
): Promise<void> {
  const fault = options.fault?.(served, index) ?? "none";
  if (fault === "reset") return void response.destroy();
  if (fault === "stall") return; // says nothing until the client gives up
  if (fault === "error-500" || fault === "rate-limit") {
    const headers = fault === "rate-limit" ? { "retry-after-ms": "3" } : {};
    response.writeHead(fault === "rate-limit" ? 429 : 500, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ error: { message: fault === "rate-limit" ? "slow down" : "something broke" } }));
    return;
  }
  const { text, finish } = cut(options.answer(served, index), served.body, options.keepStop === true);
  const chat = served.path.endsWith("/chat/completions");
  const usage = { prompt_tokens: tokensOf(served.body), completion_tokens: Math.ceil(text.length / 4) };
  if (served.body["stream"] !== true) {
    const body =
      fault === "malformed"
        ? "{ nothing"
        : JSON.stringify({ id: `r${index}`, choices: [choice(chat, text, finish, false)], usage });
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: unknown) =>
    response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  const size = options.chunkSize ?? 16;
  if (options.tokenizer && served.body["return_token_ids"] === true) {
    const decoder = new TextDecoder();
    for (const token of options.tokenizer.encodeWithSpecials(text)) {
      const piece = decoder.decode(options.tokenizer.tokenBytes(token), { stream: true });
      send({
        choices: [{ text: piece, token_ids: [token], logprobs: { token_logprobs: [-0.1] }, finish_reason: null }],
      });
    }
  } else
    for (let from = 0; from < text.length; from += size) {
      if (fault !== "none" && from >= text.length / 2) {
        if (fault === "malformed") return void response.end('data: {"choices": [nonsense\n\n');
        return void response.destroy();
      }
      send({ choices: [choice(chat, text.slice(from, from + size), null, true)] });
      // A real server writes over time: let the client read before a cut.
      if (from % (size * 4) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  send({ choices: [choice(chat, "", finish, true)] });
  send({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function choice(chat: boolean, text: string, finish: string | null, delta: boolean): Record<string, unknown> {
  if (!chat) return { text, finish_reason: finish };
  return { [delta ? "delta" : "message"]: { role: "assistant", content: text }, finish_reason: finish };
}

function cut(
  text: string,
  body: Record<string, unknown>,
  keepStop: boolean,
): { text: string; finish: "stop" | "length" } {
  const limit = Number(body["max_tokens"] ?? body["max_completion_tokens"] ?? 1e9) * 4;
  let end = text.length;
  for (const stop of (body["stop"] as string[] | undefined) ?? []) {
    const at = text.indexOf(stop);
    if (at !== -1) end = Math.min(end, keepStop ? at + stop.length : at);
  }
  return limit < end ? { text: text.slice(0, limit), finish: "length" } : { text: text.slice(0, end), finish: "stop" };
}

function tokensOf(body: Record<string, unknown>): number {
  const { prompt, messages } = body as { prompt?: string | number[]; messages?: { content: string }[] };
  if (Array.isArray(prompt)) return prompt.length;
  return Math.ceil((prompt?.length ?? (messages ?? []).reduce((sum, message) => sum + message.content.length, 0)) / 4);
}
