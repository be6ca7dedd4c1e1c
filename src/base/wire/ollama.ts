/** Ollama's own API: chat and generate. A stream is JSON lines, and streaming is the default. */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf, parseJson } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { fillCallIds } from "./call-ids.ts";
import { readStop, readTools } from "./openai-chat.ts";
import { flatWriter } from "./reply-writer.ts";
import type { WireApi, WireFinish, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";

const roles = ["system", "user", "assistant", "tool"];

function readCalls(value: unknown): ToolCall[] {
  return objectsOf(value).map((raw) => {
    const called = asObject(raw["function"]) ?? {};
    const text = asString(called["arguments"]) ?? JSON.stringify(called["arguments"] ?? {});
    return { id: asString(raw["id"]) ?? "", name: asText(called["name"]), arguments: text };
  });
}

function readMessage(raw: Json): Message[] {
  const role = asText(raw["role"]);
  if (!roles.includes(role)) return [];
  const calls = readCalls(raw["tool_calls"]);
  const name = asString(raw["tool_name"]) ?? asString(raw["name"]);
  return [
    {
      role: role as Message["role"],
      content: asText(raw["content"]),
      ...(asString(raw["thinking"]) && { reasoning: asString(raw["thinking"]) }),
      ...(calls.length > 0 && { toolCalls: calls }),
      ...(role === "tool" && { toolCallId: asString(raw["tool_call_id"]) ?? "" }),
      ...(name && { name }),
    },
  ];
}

function readReply(json: Json): WireReply {
  if (json["error"]) return { ...noReply(), error: errorText(json["error"]) };
  const message = asObject(json["message"]) ?? { content: json["response"], thinking: json["thinking"] };
  const toolCalls = readCalls(message["tool_calls"]);
  const done = json["done"] === true;
  const why = asString(json["done_reason"]) ?? "stop";
  const finish: WireFinish =
    why === "length" ? "length" : toolCalls.length > 0 ? "tool_calls" : why === "stop" ? "stop" : "other";
  const usage = defined({
    promptTokens: asNumber(json["prompt_eval_count"]),
    completionTokens: asNumber(json["eval_count"]),
  });
  return {
    text: asText(message["content"]),
    ...(asString(message["thinking"]) && { reasoning: asString(message["thinking"]) }),
    toolCalls,
    ...(done && { finish }),
    finished: done,
    ...(Object.keys(usage).length > 0 && { usage }),
    ...(asString(json["model"]) && { model: asString(json["model"]) }),
  };
}

function readEvents(events: readonly unknown[]): WireReply {
  let reply = noReply();
  for (const next of objectsOf(events).map(readReply)) {
    const reasoning = (reply.reasoning ?? "") + (next.reasoning ?? "");
    const toolCalls = [...reply.toolCalls, ...next.toolCalls];
    reply = { ...reply, ...next, text: reply.text + next.text, toolCalls, ...(reasoning && { reasoning }) };
    if (reply.finish === "stop" && toolCalls.length > 0) reply.finish = "tool_calls";
  }
  return reply;
}

function readSettings(body: Json): Partial<WireRequest> {
  const options = asObject(body["options"]) ?? {};
  return defined({
    model: asString(body["model"]),
    stream: body["stream"] === false ? undefined : true,
    maxTokens: (asNumber(options["num_predict"]) ?? -1) > 0 ? asNumber(options["num_predict"]) : undefined,
    temperature: asNumber(options["temperature"]),
    topP: asNumber(options["top_p"]),
    seed: asNumber(options["seed"]),
    stop: readStop(options["stop"]),
    responseFormat: body["format"] || undefined,
  });
}

const writeCall = ({ name, arguments: text }: ToolCall) => ({ function: { name, arguments: parseJson(text) ?? {} } });

/** One line: what it adds, and at the end how it ended and what it took. */
function writeLine(chat: boolean, reply: WireReply, part: Partial<WireReply>, done: boolean): Json {
  const { text = "", reasoning, toolCalls = [] } = part;
  const thinking = reasoning && { thinking: reasoning };
  const calls = toolCalls.length > 0 && { tool_calls: toolCalls.map(writeCall) };
  return {
    model: reply.model ?? "",
    created_at: "2026-01-01T00:00:00Z",
    ...(chat
      ? { message: { role: "assistant", content: text, ...thinking, ...calls } }
      : { response: text, ...thinking }),
    done,
    ...(done && {
      done_reason: reply.finish === "length" ? "length" : "stop",
      ...defined({ prompt_eval_count: reply.usage?.promptTokens, eval_count: reply.usage?.completionTokens }),
    }),
  };
}

function ollamaApi(chat: boolean): Omit<WireApi, "name" | "matches" | "readRequest"> {
  return {
    framing: "ndjson",
    lastEvent: /"done": ?true/,
    accepts: (body) => typeof body["model"] === "string",
    readReply,
    readEvents,
    replyWriter: (facts) =>
      flatWriter(facts, {
        added: (added, reply) => [writeLine(chat, reply, added, false)],
        end: (reply) => [writeLine(chat, reply, {}, true)],
        whole: (reply) => writeLine(chat, reply, reply, reply.finished),
      }),
    limitReply: (body, maxTokens) => ({
      ...body,
      options: { ...asObject(body["options"]), num_predict: maxTokens },
    }),
  };
}

export const ollamaChat: WireApi = {
  name: "ollama-chat",
  ...ollamaApi(true),
  matches: (path) => path.endsWith("/api/chat"),
  readRequest(body) {
    const raw = objectsOf(body["messages"]);
    const messages = raw.flatMap(readMessage);
    fillCallIds(messages);
    const request: WireRequest = { ...readSettings(body), messages, tools: readTools(body["tools"]) };
    if (raw.some((message) => objectsOf(message["images"]).length > 0 || (message["images"] as unknown[])?.length)) {
      lose(request, "media");
    }
    return request;
  },
};

export const ollamaGenerate: WireApi = {
  name: "ollama-generate",
  ...ollamaApi(false),
  matches: (path) => path.endsWith("/api/generate"),
  readRequest(body) {
    const system = asString(body["system"]);
    const request: WireRequest = {
      ...readSettings(body),
      messages: [
        ...(system ? [{ role: "system" as const, content: system }] : []),
        { role: "user", content: asText(body["prompt"]) },
      ],
      tools: [],
    };
    if (Array.isArray(body["images"]) && body["images"].length > 0) lose(request, "media");
    if (body["context"]) lose(request, "server-history");
    if (body["suffix"]) lose(request, "prompt");
    return request;
  },
};
