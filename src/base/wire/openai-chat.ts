/** OpenAI chat completions, and the messages in that form that most servers, frameworks and files use. */

import type { Json } from "../../core/json-value.ts";
import { asArray, asNumber, asObject, asString, asText, defined, objectsOf } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { fillCallIds } from "./call-ids.ts";
import { readFinish, readReplyFacts, writeFinish, writeUsage } from "./reply-facts.ts";
import { flatWriter, type ReplyFacts } from "./reply-writer.ts";
import { readTool } from "./said.ts";
import type { ToolDefinition, WireApi, WireFinish, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

const roles = new Map<unknown, Message["role"]>([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
  ["function", "tool"],
  // smolagents
  ["tool-call", "assistant"],
  ["tool-response", "tool"],
  // ShareGPT
  ["human", "user"],
  ["gpt", "assistant"],
]);

/** One chat message, whatever shape its content has; text parts are joined, other parts are named in brackets. */
export function readChatMessage(value: unknown): Message | undefined {
  const raw = asObject(value);
  const role = raw && roles.get(raw["role"]);
  if (!raw || !role) return undefined;
  const spoken = asString(asObject(raw["audio"])?.["transcript"]);
  const message: Message = {
    role,
    content: contentText(raw["content"]) || asString(raw["refusal"]) || spoken || "",
  };
  const reasoning = asString(raw["reasoning_content"]) ?? asString(raw["reasoning"]) ?? thoughtText(raw["content"]);
  if (reasoning) message.reasoning = reasoning;
  const calls = asArray(raw["tool_calls"]).flatMap((call) => readToolCall(call) ?? []);
  const legacy = asObject(raw["function_call"]);
  if (legacy) calls.push({ id: "", name: asText(legacy["name"]), arguments: asText(legacy["arguments"]) });
  if (calls.length > 0) message.toolCalls = calls;
  if (role === "tool") message.toolCallId = asString(raw["tool_call_id"]) ?? "";
  const name = asString(raw["name"]);
  if (name) message.name = name;
  return message;
}

/** A message as the API takes it. */
function writeChatMessage(message: Message): Json {
  const { role, content, toolCalls, toolCallId, name } = message;
  return {
    role,
    content: toolCalls?.length && content === "" ? null : content,
    ...(name ? { name } : {}),
    ...(toolCallId ? { tool_call_id: toolCallId } : {}),
    ...(toolCalls?.length ? { tool_calls: toolCalls.map(writeToolCall) } : {}),
  };
}

/** One tool call of an assistant message; the arguments stay the text the model wrote. */
export function readToolCall(value: unknown): ToolCall | undefined {
  const raw = asObject(value);
  const called = asObject(raw?.["function"]) ?? asObject(raw?.["custom"]);
  if (!raw || !called) return undefined;
  return {
    id: asString(raw["id"]) ?? "",
    name: asText(called["name"]),
    arguments: asText(called["arguments"] ?? called["input"]),
  };
}

function writeToolCall({ id, name, arguments: text }: ToolCall): Json {
  return { id, type: "function", function: { name, arguments: text } };
}

/** Parts that are not words of a reply: what the model thought, and calls, which are also beside the content. */
const notSaid =
  /^(?:thinking|redacted_thinking|reasoning|tool_use|tool_call|tool-call|function_call|input_json_delta)$/;

/** What the parts of a content field say that the model thought. */
function thoughtText(content: unknown): string {
  return objectsOf(content)
    .filter((part) => /^(?:thinking|reasoning)$/.test(asText(part["type"])))
    .map((part) => {
      const thought = part["thinking"] ?? part["reasoning"] ?? part["text"] ?? part["summary"];
      return typeof thought === "string" ? thought : contentText(thought);
    })
    .join("");
}

/** The text of a content field: a string, or parts. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .map((part) => {
      if (typeof part === "string") return part;
      const raw = asObject(part) ?? {};
      if (notSaid.test(asText(raw["type"]))) return "";
      const text = raw["text"] ?? raw["refusal"] ?? raw["content"];
      if (typeof text === "string") return text;
      return raw["type"] === undefined ? "" : `[${asText(raw["type"])}]`;
    })
    .join("");
}

/** Whether a content field holds something that text can't keep: an image, sound, a file. */
export function hasMedia(content: unknown): boolean {
  return asArray(content).some((part) => {
    const type = asString(asObject(part)?.["type"]);
    return type !== undefined && !/text|refusal|thinking|reasoning|tool|function/.test(type);
  });
}

/** Tool definitions in either spelling: nested under `function`, or flat as in the Responses API. */
export function readTools(value: unknown): ToolDefinition[] {
  return objectsOf(value).flatMap((raw) => {
    const body = asObject(raw["function"]) ?? asObject(raw["custom"]) ?? raw;
    const name = asString(body["name"]) ?? asString(raw["type"]);
    const parameters = body["parameters"] ?? body["inputSchema"] ?? body["input_schema"];
    return name ? [readTool({ ...body, name }, parameters)] : [];
  });
}

/** Signs that the server searched or ran something on its own: citations, sources, tools that it names as executed. */
function tellsOfTools(raw: Json): boolean {
  return ["annotations", "executed_tools", "citations", "search_results"].some((key) => asArray(raw[key]).length > 0);
}

/** A whole chat completion, or a plain one: it reads as one chunk. */
export function readCompletion(json: Json): WireReply {
  if (json["error"]) return { ...noReply(), error: errorText(json["error"]) };
  return { ...readChunks([json]), finished: objectsOf(json["choices"]).length > 0 };
}

/** A chunk's first choice in our words; `tokens` and `logprobs` where a server was asked for them. */
export interface ChunkChoice {
  text: string;
  reasoning: string;
  finish?: WireFinish;
  stopReason?: unknown;
  tokens: number[];
  logprobs: number[];
}

/** Reads what a choice of a chunk adds; a whole answer reads as one chunk. */
export function readChunkChoice(choice: Json): ChunkChoice {
  const delta = asObject(choice["delta"]) ?? asObject(choice["message"]) ?? {};
  const finish = readFinish(choice["finish_reason"]);
  const spoken = asString(asObject(delta["audio"])?.["transcript"]) ?? "";
  return {
    text: asString(choice["text"]) ?? (contentText(delta["content"]) || asString(delta["refusal"]) || spoken),
    reasoning: asString(delta["reasoning_content"]) ?? asString(delta["reasoning"]) ?? thoughtText(delta["content"]),
    ...(finish && { finish }),
    ...(choice["stop_reason"] !== undefined && { stopReason: choice["stop_reason"] }),
    tokens: asArray(choice["token_ids"]) as number[],
    logprobs: asArray(asObject(choice["logprobs"])?.["token_logprobs"]) as number[],
  };
}

/** Puts streamed chunks together, of chat or plain completions; `add` gives back the text that a chunk adds. */
export function chunkReader(): { add(event: unknown): string; readonly reply: WireReply } {
  const reply = noReply();
  const parts = new Map<number, { reply: Omit<WireReply, "finished">; calls: Map<number, ToolCall> }>();
  const at = (index: number) => {
    const part = parts.get(index) ?? { reply: index === 0 ? reply : { text: "", toolCalls: [] }, calls: new Map() };
    parts.set(index, part);
    return part;
  };
  return {
    reply,
    add(event) {
      if (event === "[DONE]") {
        reply.finished = true;
        return "";
      }
      const json = asObject(event);
      if (!json) return "";
      if (json["error"]) reply.error = errorText(json["error"]);
      Object.assign(reply, readReplyFacts(json));
      if (tellsOfTools(json)) lose(reply, "hosted-tool");
      let added = "";
      for (const [place, choice] of objectsOf(json["choices"]).entries()) {
        const index = asNumber(choice["index"]) ?? place;
        const part = at(index);
        const text = addChoice(part.reply, part.calls, choice);
        if (index === 0) {
          added += text;
          if (reply.finish) reply.finished = true;
        }
      }
      const others = [...parts].filter(([index]) => index !== 0).sort(([a], [b]) => a - b);
      if (others.length > 0) reply.others = others.map(([, part]) => part.reply);
      return added;
    },
  };
}

export function readChunks(events: readonly unknown[]): WireReply {
  const { add, reply } = chunkReader();
  for (const event of events) add(event);
  return reply;
}

function addChoice(reply: Omit<WireReply, "finished">, calls: Map<number, ToolCall>, choice: Json): string {
  const { text, reasoning, finish } = readChunkChoice(choice);
  const delta = asObject(choice["delta"]) ?? asObject(choice["message"]) ?? {};
  reply.text += text;
  if (reasoning) reply.reasoning = (reply.reasoning ?? "") + reasoning;
  const legacy = asObject(delta["function_call"]);
  const parts = [...objectsOf(delta["tool_calls"]), ...(legacy ? [{ index: 0, function: legacy }] : [])] as Json[];
  for (const raw of parts) {
    const index = asNumber(raw["index"]) ?? calls.size;
    const call = calls.get(index) ?? { id: "", name: "", arguments: "" };
    const called = asObject(raw["function"]) ?? asObject(raw["custom"]) ?? {};
    call.id ||= asString(raw["id"]) ?? "";
    call.name += asString(called["name"]) ?? "";
    call.arguments += asString(called["arguments"] ?? called["input"]) ?? "";
    calls.set(index, call);
  }
  if (calls.size > 0) reply.toolCalls = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
  if (finish) reply.finish = finish;
  if (asString(delta["refusal"]) || reply.finish === "refusal") reply.finish = "refusal";
  if (delta["audio"]) lose(reply, "media");
  if (tellsOfTools(delta)) lose(reply, "hosted-tool");
  return text;
}

export const openaiChat: WireApi = {
  name: "openai-chat",
  framing: "sse",
  lastEvent: /(?:^|\n)data: ?\[DONE\]/,
  matches: (path) => path.endsWith("/chat/completions"),
  readRequest(body) {
    const raw = asArray(body["messages"]);
    const request: WireRequest = {
      ...readSettings(body),
      messages: raw.flatMap((message) => readChatMessage(message) ?? []),
      tools: [
        ...readTools(body["tools"]),
        ...readTools(objectsOf(body["functions"]).map((one) => ({ function: one }))),
      ],
    };
    fillCallIds(request.messages);
    if (objectsOf(raw).some((message) => hasMedia(message["content"]) || message["audio"])) lose(request, "media");
    if (body["web_search_options"]) lose(request, "hosted-tool");
    return request;
  },
  readReply: readCompletion,
  readEvents: readChunks,
  replyWriter(facts) {
    const chunk = (delta: Json, finish: string | null = null): Json => ({
      ...writeFacts(facts, "chat.completion.chunk"),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    });
    return flatWriter(facts, {
      first: [chunk({ role: "assistant", content: "" })],
      added({ text, reasoning, toolCalls: [call] }, { toolCalls }) {
        if (reasoning) return [chunk(writeReasoning(reasoning))];
        if (text !== "") return [chunk({ content: text })];
        if (!call) return [];
        const index = toolCalls.length - 1;
        const start = { index, ...writeToolCall({ ...call, arguments: "" }) };
        return [
          chunk({ tool_calls: [start] }),
          chunk({ tool_calls: [{ index, function: { arguments: call.arguments } }] }),
        ];
      },
      end: (reply) => [chunk({}, writeFinish(reply)), ...usageChunk(facts, reply, "chat.completion.chunk"), "[DONE]"],
      whole: (reply) => ({
        ...writeFacts(facts, "chat.completion"),
        choices: [
          {
            index: 0,
            message: {
              role: "assistant",
              content: reply.toolCalls.length > 0 && reply.text === "" ? null : reply.text,
              refusal: null,
              ...(reply.reasoning && writeReasoning(reply.reasoning)),
              ...(reply.toolCalls.length > 0 && { tool_calls: reply.toolCalls.map(writeToolCall) }),
            },
            logprobs: null,
            finish_reason: writeFinish(reply),
          },
        ],
        ...(reply.usage && { usage: writeUsage(reply.usage) }),
      }),
    });
  },
  limitReply: (body, maxTokens) =>
    body["max_tokens"] !== undefined
      ? { ...body, max_tokens: maxTokens }
      : { ...body, max_completion_tokens: maxTokens },
  askUsage: (body) => ({ ...body, stream_options: { ...asObject(body["stream_options"]), include_usage: true } }),
};

/** The settings that chat and plain completions share. */
export function readSettings(body: Json) {
  return defined({
    model: asString(body["model"]),
    stream: body["stream"] === true ? true : undefined,
    maxTokens: asNumber(body["max_completion_tokens"] ?? body["max_tokens"]),
    temperature: asNumber(body["temperature"]),
    topP: asNumber(body["top_p"]),
    seed: asNumber(body["seed"]),
    stop: readStop(body["stop"]),
    responseFormat: body["response_format"] ?? undefined,
    samples: asNumber(body["n"]),
    toolChoice: body["tool_choice"],
  });
}

/** Stop strings, which may also come as one string. */
export function readStop(value: unknown): string[] | undefined {
  const list = typeof value === "string" ? [value] : asArray(value).filter((one) => typeof one === "string");
  return list.length > 0 ? (list as string[]) : undefined;
}

/** A chat request as the API takes it. */
export function writeChatRequest(request: WireRequest): Json {
  const { messages, tools, stream, samples } = request;
  return {
    ...writeSettings(request),
    messages: messages.map(writeChatMessage),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: "function", function: { ...tool } })) }),
    ...(samples !== undefined && { n: samples }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

/** Settings as chat and plain completions write them. */
export function writeSettings(request: Partial<WireRequest>): Json {
  return defined({
    model: request.model,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    seed: request.seed,
    stop: request.stop,
    response_format: request.responseFormat,
  }) as Json;
}

/** What stands in every chunk and in a whole reply. */
export function writeFacts({ responseId = "", model = "", created = 0 }: ReplyFacts, object: string): Json {
  return { id: responseId, object, created, model };
}

/** The last chunk, where the client asked for usage. */
export function usageChunk(facts: ReplyFacts, { usage }: WireReply, object: string): Json[] {
  if (!usage || facts.streamUsage === false) return [];
  return [{ ...writeFacts(facts, object), choices: [], usage: writeUsage(usage) }];
}

/** vLLM's name and the older one: LangChain reads only the second, others either. */
function writeReasoning(text: string): Json {
  return { reasoning: text, reasoning_content: text };
}
