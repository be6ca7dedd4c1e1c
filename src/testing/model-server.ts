/**
 * A real HTTP server on loopback that speaks the OpenAI protocol and misbehaves on request: errors, rate limits, streams
 * cut in the middle, malformed JSON, silence. It keeps a log of what it was asked.
 */

import type { IncomingHttpHeaders } from "node:http";
import { estimateTokens } from "../base/count/token-estimate.ts";
import { type Reply, type ReplyHeaders, replyJson } from "../base/http/handler.ts";
import { listen } from "../base/http/listen.ts";
import { eventText } from "../base/http/server-events.ts";
import { apiOf } from "../base/wire/apis.ts";
import { openaiCompletions } from "../base/wire/openai-completions.ts";
import { writeEvents, writeReply } from "../base/wire/reply-writer.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

/** Which error one request gets. */
export type Fault = "none" | "error-500" | "rate-limit" | "cut" | "malformed" | "stall" | "reset";

export interface ServedRequest {
  path: string;
  headers: Readonly<IncomingHttpHeaders>;
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
  /** Answer whole although a stream was asked for, as some servers do. */
  ignoreStream?: boolean;
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
  const { origin, close } = await listen(async ({ method, url, headers, read }, to) => {
    if (method === "GET")
      return replyJson(to, options.models ? 200 : 404, options.models ?? { error: { message: "not found" } });
    const body = JSON.parse((await read(2 ** 30)).toString("utf8"));
    const served: ServedRequest = { path: url, headers, body };
    await reply(options, served, requests.push(served) - 1, to);
  });
  return { url: `${origin}/v1`, requests, close };
}

async function reply(options: ModelServerOptions, served: ServedRequest, index: number, to: Reply): Promise<void> {
  const fault = options.fault?.(served, index) ?? "none";
  if (fault === "reset") return to.cut();
  if (fault === "stall") return; // says nothing until the client gives up
  if (fault === "error-500" || fault === "rate-limit") {
    const headers: ReplyHeaders = fault === "rate-limit" ? { "retry-after-ms": "3" } : {};
    const message = fault === "rate-limit" ? "slow down" : "something broke";
    return replyJson(to, fault === "rate-limit" ? 429 : 500, { error: { message } }, headers);
  }
  const { text, finish } = cut(options, options.answer(served, index), served.body);
  const api = apiOf(served.path) ?? openaiCompletions;
  const count = (said: string) => options.tokenizer?.encodeWithSpecials(said).length ?? estimateTokens(said);
  const usage = { promptTokens: tokensOf(served.body), completionTokens: count(text) };
  const whole = { text, toolCalls: [], finish, finished: true, usage, responseId: `r${index}`, model: "served" };
  if (served.body["stream"] !== true || options.ignoreStream) {
    const body = fault === "malformed" ? "{ nothing" : JSON.stringify(writeReply(api, whole));
    return to.send(200, body, { "content-type": "application/json" });
  }
  const stream = to.stream(200, { "content-type": "text/event-stream" });
  const withIds = options.tokenizer && served.body["return_token_ids"] === true ? options.tokenizer : undefined;
  const parts = pieces(text, options.chunkSize ?? 16);
  const breaks = fault !== "none" && parts.length > 1; // what is sent in one piece arrives whole
  const broken = { ...whole, finished: false, usage: undefined };
  const events = withIds
    ? [...tokenChunks(withIds, text), ...writeEvents(api, whole, [])]
    : breaks
      ? writeEvents(api, broken, parts.slice(0, Math.ceil(parts.length / 2)))
      : writeEvents(api, whole, parts);
  for (const [place, event] of events.entries()) {
    void stream.write(eventText(typeof event === "string" ? event : JSON.stringify(event)));
    // A real server writes over time: let the client read before a cut.
    if (place % 4 === 1) await new Promise((resolve) => setImmediate(resolve));
  }
  if (breaks && fault === "cut") return to.cut();
  if (breaks && fault === "malformed") void stream.write(eventText('{"choices": [nonsense'));
  stream.end();
}

/** One token to a chunk, with its id, as vLLM sends them. */
function* tokenChunks(tokenizer: Tokenizer, text: string): Generator<object> {
  const decoder = new TextDecoder();
  for (const token of tokenizer.encodeWithSpecials(text)) {
    const piece = decoder.decode(tokenizer.tokenBytes(token), { stream: true });
    yield { choices: [{ text: piece, token_ids: [token], logprobs: { token_logprobs: [-0.1] }, finish_reason: null }] };
  }
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

function cut(
  { keepStop, tokenizer }: ModelServerOptions,
  text: string,
  body: Record<string, unknown>,
): { text: string; finish: "stop" | "length" } {
  const maxTokens = Number(body["max_tokens"] ?? body["max_completion_tokens"] ?? 1e9);
  const limit = tokenizer
    ? tokenizer.decode(tokenizer.encodeWithSpecials(text).slice(0, maxTokens)).length
    : maxTokens * 4;
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
  return estimateTokens(prompt ?? (messages ?? []).map((message) => message.content).join(""));
}
