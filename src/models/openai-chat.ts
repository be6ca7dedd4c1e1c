/** One chat completion: for judges, summaries and agents that call tools. Streamed only when somebody listens. */

import { HttpError } from "../base/http/http-client.ts";
import { serverEvents } from "../base/http/server-events.ts";
import type { Message } from "../core/message.ts";
import type { ChatReply, ChatRequest } from "../core/model.ts";
import type { Connection } from "./openai-compatible.ts";

interface WireToolCall {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface WireMessage {
  content?: string | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: WireToolCall[] | null;
}

interface WireReply {
  id?: string;
  choices?: { message?: WireMessage; delta?: WireMessage; finish_reason?: string | null }[];
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  } | null;
  error?: { message?: string };
}

/** Sends the messages and returns the reply; the whole call is repeated where that may help. */
export function chatOnce(connection: Connection, request: ChatRequest): Promise<ChatReply> {
  const { http, baseURL } = connection;
  return http.retry(async (tries) => {
    // A listener has heard the first try; a second one would repeat its words.
    const stream = request.onDelta !== undefined && tries === 0;
    const answer = await http.send("POST", `${baseURL}/chat/completions`, bodyFor(connection, request, stream), {
      headers: connection.headers(undefined),
      signal: request.signal,
    });
    return stream ? readStream(baseURL, answer.chunks, request.onDelta!) : readReply(baseURL, await answer.text());
  }, request.signal);
}

function bodyFor(
  { model, facts, options }: Connection,
  request: ChatRequest,
  stream: boolean,
): Record<string, unknown> {
  return {
    model,
    messages: request.messages.map(wireMessage),
    ...(request.tools?.length
      ? {
          tools: request.tools.map((tool) => ({
            type: "function",
            function: { name: tool.name, description: tool.description, parameters: tool.parameters },
          })),
        }
      : {}),
    ...(request.maxTokens === undefined
      ? {}
      : { [facts.kind === "openai" ? "max_completion_tokens" : "max_tokens"]: request.maxTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(request.json ? { response_format: { type: "json_object" } } : {}),
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...options.extraBody,
  };
}

function wireMessage(message: Message): Record<string, unknown> {
  const { role, content, toolCalls, toolCallId, name } = message;
  return {
    role,
    content: toolCalls?.length && content === "" ? null : content,
    ...(name ? { name } : {}),
    ...(toolCallId ? { tool_call_id: toolCallId } : {}),
    ...(toolCalls?.length
      ? {
          tool_calls: toolCalls.map((call) => ({
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: call.arguments },
          })),
        }
      : {}),
  };
}

function readReply(baseURL: string, body: string): ChatReply {
  let reply: WireReply;
  try {
    reply = JSON.parse(body) as WireReply;
  } catch (error) {
    throw new HttpError(`${baseURL}: the answer is not JSON: ${body.slice(0, 80)}`, { retryable: true, cause: error });
  }
  const choice = reply.choices?.[0];
  if (!choice?.message)
    throw new HttpError(`${baseURL}: the answer has no message: ${reply.error?.message ?? body.slice(0, 80)}`, {
      retryable: true,
    });
  return toReply(reply, choice.message, choice.finish_reason);
}

async function readStream(
  baseURL: string,
  chunks: AsyncIterable<Uint8Array>,
  onDelta: (text: string) => void,
): Promise<ChatReply> {
  const whole: WireReply = {};
  const message: WireMessage & { tool_calls: WireToolCall[] } = { content: "", reasoning_content: "", tool_calls: [] };
  let finish: string | null | undefined;
  for await (const data of serverEvents(chunks)) {
    if (data === "[DONE]") break;
    let chunk: WireReply;
    try {
      chunk = JSON.parse(data) as WireReply;
    } catch (error) {
      throw new HttpError(`${baseURL}: malformed JSON in the stream: ${data.slice(0, 80)}`, {
        retryable: true,
        cause: error,
      });
    }
    whole.id ??= chunk.id;
    whole.usage = chunk.usage ?? whole.usage;
    const choice = chunk.choices?.[0];
    finish = choice?.finish_reason ?? finish;
    const delta = choice?.delta;
    if (!delta) continue;
    if (delta.content) {
      message.content += delta.content;
      onDelta(delta.content);
    }
    message.reasoning_content += delta.reasoning_content ?? delta.reasoning ?? "";
    for (const part of delta.tool_calls ?? []) {
      const place = part.index ?? message.tool_calls.length;
      message.tool_calls[place] ??= { id: part.id, function: { name: "", arguments: "" } };
      const call = message.tool_calls[place]!;
      call.id ??= part.id;
      call.function!.name += part.function?.name ?? "";
      call.function!.arguments += part.function?.arguments ?? "";
    }
  }
  if (finish === undefined)
    throw new HttpError(`${baseURL}: the stream ended before the answer did`, { retryable: true });
  return toReply(whole, message, finish);
}

function toReply(reply: WireReply, message: WireMessage, finish: string | null | undefined): ChatReply {
  const toolCalls = (message.tool_calls ?? []).filter(Boolean).map((call, index) => ({
    id: call.id ?? `call_${index}`,
    name: call.function?.name ?? "",
    arguments: call.function?.arguments ?? "",
  }));
  const text = message.content ?? "";
  const reasoning = message.reasoning_content ?? message.reasoning;
  const cached = reply.usage?.prompt_tokens_details?.cached_tokens;
  return {
    text,
    ...(reasoning ? { reasoning } : {}),
    toolCalls,
    finish: finish === "stop" || finish === "length" || finish === "tool_calls" ? finish : "other",
    usage: {
      promptTokens: reply.usage?.prompt_tokens ?? 0,
      completionTokens: reply.usage?.completion_tokens ?? Math.ceil(text.length / 4),
      ...(cached ? { cachedTokens: cached } : {}),
    },
    ...(reply.id ? { responseId: reply.id } : {}),
  };
}
