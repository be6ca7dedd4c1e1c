/** One chat completion: for judges, summaries and agents that call tools. Streamed only if `onDelta` is set. */

import { estimateTokens, requestTokens } from "../base/count/token-estimate.ts";
import { HttpError } from "../base/http/http-client.ts";
import { serverEvents } from "../base/http/server-events.ts";
import { chunkReader, openaiChat, writeChatRequest } from "../base/wire/openai-chat.ts";
import type { WireReply } from "../base/wire/wire-api.ts";
import { asObject, parseJson } from "../core/json-value.ts";
import type { ChatReply, ChatRequest } from "../core/model.ts";
import type { Connection } from "./openai-compatible.ts";

/** Sends the messages and returns the reply; the whole call is repeated where that may help. */
export function chatOnce(connection: Connection, request: ChatRequest): Promise<ChatReply> {
  const { http, baseURL } = connection;
  return http.retry(async (tries) => {
    // A listener has received the first try; a second one would repeat its text.
    const stream = request.onDelta !== undefined && tries === 0;
    const answer = await http.send("POST", `${baseURL}/chat/completions`, bodyFor(connection, request, stream), {
      headers: connection.headers(undefined),
      signal: request.signal,
    });
    // Some servers ignore `stream` and answer whole.
    if (stream && !isJson(answer.header("content-type"))) {
      return toReply(request, await readStream(baseURL, answer.chunks, request.onDelta!));
    }
    const reply = readWhole(baseURL, await answer.text());
    if (stream && reply.text !== "") request.onDelta!(reply.text);
    return toReply(request, reply);
  }, request.signal);
}

/** Whether an answer is one JSON value and not a stream of events. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/(?:\w+\+)?json\b/i.test(contentType ?? "");
}

function bodyFor({ model, facts, options }: Connection, request: ChatRequest, stream: boolean): object {
  const { messages, tools = [], maxTokens, temperature, seed, json } = request;
  const { max_tokens, ...body } = writeChatRequest({
    model,
    messages: [...messages],
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    stream,
    ...{ maxTokens, temperature, seed },
    ...(json && { responseFormat: { type: "json_object" } }),
  });
  const limit = facts.kind === "openai" ? { max_completion_tokens: max_tokens } : { max_tokens };
  return { ...body, ...(max_tokens !== undefined && limit), ...options.extraBody };
}

function readWhole(baseURL: string, body: string): WireReply {
  const json = asObject(parseJson(body));
  if (!json) throw new HttpError(`${baseURL}: the answer is not JSON: ${body.slice(0, 80)}`, { retryable: true });
  const reply = openaiChat.readReply(json);
  if (reply.finished) return reply;
  throw new HttpError(`${baseURL}: the answer has no message: ${reply.error ?? body.slice(0, 80)}`, {
    retryable: true,
  });
}

async function readStream(
  baseURL: string,
  chunks: AsyncIterable<Uint8Array>,
  onDelta: (text: string) => void,
): Promise<WireReply> {
  const reader = chunkReader();
  for await (const data of serverEvents(chunks)) {
    if (data === "[DONE]") break;
    const chunk = parseJson(data);
    if (chunk === undefined) {
      throw new HttpError(`${baseURL}: malformed JSON in the stream: ${data.slice(0, 80)}`, { retryable: true });
    }
    const text = reader.add(chunk);
    if (reader.reply.error) {
      throw new HttpError(`${baseURL}: the stream reports an error: ${reader.reply.error}`, { retryable: true });
    }
    if (text !== "") onDelta(text);
  }
  if (!reader.reply.finished)
    throw new HttpError(`${baseURL}: the stream ended before the answer did`, { retryable: true });
  return reader.reply;
}

function toReply(request: ChatRequest, reply: WireReply): ChatReply {
  const { text, reasoning, toolCalls, finish, usage, responseId } = reply;
  return {
    text,
    ...(reasoning ? { reasoning } : {}),
    toolCalls: toolCalls.map((call, index) => ({ ...call, id: call.id || `call_${index}` })),
    finish: finish === "stop" || finish === "length" || finish === "tool_calls" ? finish : "other",
    usage: {
      ...usage,
      promptTokens: usage?.promptTokens ?? requestTokens(request),
      completionTokens: usage?.completionTokens ?? estimateTokens(text),
    },
    ...(responseId ? { responseId } : {}),
  };
}
