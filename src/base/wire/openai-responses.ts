/**
 * OpenAI's Responses API: a conversation is a list of items, of which several make one of our messages. Tools that the
 * server runs itself (web search, code interpreter, MCP) are items too.
 */

import type { Json } from "../../core/json-value.ts";
import { asNumber, asObject, asString, asText, defined, objectsOf } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { contentText, hasMedia, readChatMessage, readTools } from "./openai-chat.ts";
import { readReplyFacts } from "./reply-facts.ts";
import type { HostedCall, Loss, WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { errorText, lose, noReply } from "./wire-api.ts";
import { responseWriter } from "./write-response.ts";

/** The conversation of a request: instructions, then items of several types. */
export function readResponsesInput(body: Json): Message[] {
  const messages: Message[] = [];
  const instructions = asString(body["instructions"]);
  if (instructions) messages.push({ role: "system", content: instructions });
  if (typeof body["input"] === "string") messages.push({ role: "user", content: body["input"] });
  for (const item of objectsOf(body["input"])) addResponsesItem(messages, item);
  return messages;
}

/** Adds one item; calls and reasoning join the assistant message they belong to. */
function addResponsesItem(messages: Message[], item: Json): void {
  const last = messages.at(-1);
  const assistant = (): Message => {
    if (last?.role === "assistant") return last;
    const made: Message = { role: "assistant", content: "" };
    messages.push(made);
    return made;
  };
  const hosted = readHostedCall(item);
  if (hosted) {
    const { result, ...call } = hosted;
    const into = last?.role === "assistant" && last.content === "" ? last : { role: "assistant" as const, content: "" };
    if (into !== last) messages.push(into);
    (into as Message).toolCalls = [...((into as Message).toolCalls ?? []), call];
    if (result !== undefined) messages.push({ role: "tool", content: result, toolCallId: call.id });
    return;
  }
  switch (kindOf(item)) {
    case "call": {
      const into = assistant();
      into.toolCalls = [...(into.toolCalls ?? []), readCallItem(item)];
      return;
    }
    case "output": {
      const output = item["output"];
      messages.push({
        role: "tool",
        content: Array.isArray(output) ? contentText(output) || (outputText(output) ?? "") : asText(output),
        toolCallId: asString(item["call_id"]) ?? "",
      });
      return;
    }
    case "reasoning": {
      const text = reasoningText(item);
      if (text) assistant().reasoning = text;
      return;
    }
    default: {
      const message = readChatMessage(item);
      if (!message) return;
      if (message.role === "assistant" && last?.role === "assistant" && last.content === "" && !last.toolCalls) {
        last.content = message.content;
      } else messages.push(message);
    }
  }
}

/** What an item is: a call for the client's program to make, what came of one, or anything else by its type. */
function kindOf(item: Json): string {
  const type = asText(item["type"]);
  if (/_call_output$/.test(type)) return "output";
  return /_call$/.test(type) && (asString(item["call_id"]) || /^(?:function|custom_tool)_call$/.test(type))
    ? "call"
    : type;
}

/** A call for the client: of its own tools, or of those that the API defines (shell, patches, the computer). */
function readCallItem(item: Json) {
  const type = asText(item["type"]);
  return {
    id: asString(item["call_id"]) ?? asString(item["id"]) ?? "",
    name: asString(item["name"]) ?? type.replace(/_call$/, ""),
    arguments: asText(item["arguments"] ?? item["input"] ?? item["action"] ?? item["operation"]),
  };
}

function reasoningText(item: Json): string {
  return contentText(item["summary"]) || contentText(item["content"]);
}

/** A call that the server made itself; its name is the tool's, its arguments are what the item tells of them. */
function readHostedCall(item: Json): HostedCall | undefined {
  const type = asString(item["type"]) ?? "";
  if (!/_call$/.test(type) || kindOf(item) === "call") return undefined;
  const known = ["id", "type", "status", "output", "outputs", "results", "error", "name", "server_label", "arguments"];
  const rest = Object.fromEntries(Object.entries(item).filter(([key]) => !known.includes(key)));
  // A search names its sources at most: what the model read of them stays with the server.
  const output = item["output"] ?? item["outputs"] ?? item["results"];
  const error = item["error"];
  const result = error ? `error: ${errorText(error)}` : outputText(output);
  return {
    id: asString(item["id"]) ?? "",
    name: asString(item["name"]) ?? type.replace(/_call$/, ""),
    arguments: asString(item["arguments"]) ?? JSON.stringify(asObject(item["action"]) ?? rest),
    ...(result !== undefined && { result }),
  };
}

function outputText(output: unknown): string | undefined {
  if (output === undefined || output === null) return undefined;
  if (!Array.isArray(output)) return asText(output);
  return objectsOf(output)
    .map((part) => asText(part["logs"] ?? part["text"] ?? part["stdout"] ?? part))
    .join("\n");
}

/** What an item tells of that the recording can't keep. */
function loseOf(target: { lost?: Loss[] }, item: Json): void {
  const type = asText(item["type"]);
  const shown = [item["content"], item["output"], item["outputs"]];
  if (type === "image_generation_call" || asText(asObject(item["output"])?.["type"]).includes("screenshot")) {
    lose(target, "media");
  } else if (shown.some((one) => hasMedia(objectsOf(one).filter((part) => part["type"] !== "logs")))) {
    lose(target, "media");
  }
  const hosted = readHostedCall(item);
  if (hosted && hosted.result === undefined) lose(target, "hosted-tool");
  if (type === "item_reference" || type === "compaction") lose(target, "server-history");
}

export function readResponse(json: Json): WireReply {
  if (json["error"] && json["status"] !== "failed") return { ...noReply(), error: errorText(json["error"]) };
  const reply: WireReply = { ...noReply(), ...readReplyFacts(json) };
  let refused = false;
  for (const item of objectsOf(json["output"])) {
    const hosted = readHostedCall(item);
    if (hosted) {
      reply.hosted = [...(reply.hosted ?? []), hosted];
      loseOf(reply, item);
    } else if (item["type"] === "reasoning") {
      const text = reasoningText(item);
      if (text) reply.reasoning = (reply.reasoning ?? "") + text;
    } else if (kindOf(item) === "call") reply.toolCalls.push(readCallItem(item));
    else {
      reply.text += readChatMessage({ role: "assistant", ...item })?.content ?? "";
      refused ||= objectsOf(item["content"]).some((part) => part["type"] === "refusal");
    }
  }
  const status = asString(json["status"]) ?? "completed";
  reply.finished = status === "completed" || status === "incomplete";
  if (json["background"] === true && /^(?:queued|in_progress)$/.test(status)) reply.pending = true;
  if (status === "failed") reply.error = errorText(json["error"]);
  const why = asString(asObject(json["incomplete_details"])?.["reason"]);
  if (status === "incomplete") reply.finish = why === "content_filter" ? "refusal" : "length";
  else if (reply.finished) reply.finish = refused ? "refusal" : reply.toolCalls.length > 0 ? "tool_calls" : "stop";
  return reply;
}

function readEvents(events: readonly unknown[]): WireReply {
  const reply = noReply();
  for (const json of objectsOf(events)) {
    const type = asString(json["type"]) ?? "";
    const whole = asObject(json["response"]);
    if (whole && /^response\.(?:completed|incomplete|failed)$/.test(type)) {
      Object.assign(reply, { toolCalls: [] }, readResponse(whole));
    } else if (type === "response.output_text.delta") reply.text += asText(json["delta"]);
    else if (whole) reply.responseId = asString(whole["id"]) ?? "";
    else if (json["error"] || type === "error") reply.error = errorText(json["error"] ?? json);
  }
  return reply;
}

export const openaiResponses: WireApi = {
  name: "openai-responses",
  framing: "named-sse",
  lastEvent: /"type": ?"response\.(?:completed|failed|incomplete)"/,
  matches: (path) => path.endsWith("/responses"),
  readRequest(body) {
    const items = objectsOf(body["input"]);
    const format = asObject(body["text"])?.["format"];
    const request: WireRequest = {
      ...defined({
        model: asString(body["model"]),
        stream: body["stream"] === true ? true : undefined,
        maxTokens: asNumber(body["max_output_tokens"]),
        temperature: asNumber(body["temperature"]),
        topP: asNumber(body["top_p"]),
        responseFormat: asObject(format)?.["type"] === "text" ? undefined : format,
        previousResponseId: asString(body["previous_response_id"]),
        conversation: asString(body["conversation"]) ?? asString(asObject(body["conversation"])?.["id"]),
        toolChoice: body["tool_choice"],
      }),
      messages: readResponsesInput(body),
      tools: readTools(body["tools"]),
    };
    for (const item of items) loseOf(request, item);
    if (asObject(body["prompt"])) lose(request, "server-history"); // a template whose text the server keeps
    return request;
  },
  readReply: readResponse,
  readEvents,
  replyWriter: responseWriter,
  limitReply: (body, maxTokens) => ({ ...body, max_output_tokens: maxTokens }),
};
