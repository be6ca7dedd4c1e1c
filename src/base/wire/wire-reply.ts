/**
 * Reads what a server answered, from whole JSON or from a stream of events, in the three OpenAI dialects. The text of a
 * stream is put together exactly as a client would; what ended too early is said to be unfinished.
 */
import type { Message, ToolCall } from "../../core/message.ts";
import { asArray, asNumber, asObject, asString, asText, parseJson } from "../../record/recorded-call.ts";
import { addResponsesItem, contentText, readChatMessage } from "./wire-messages.ts";

type Json = Record<string, unknown>;

export interface WireReply {
  text: string;
  reasoning?: string;
  toolCalls: ToolCall[];
  promptTokens?: number;
  completionTokens?: number;
  cachedTokens?: number;
  responseId?: string;
  model?: string;
  /** The server said that it was done. */
  finished: boolean;
  /** It stopped because of a token limit. */
  cutByLimit?: boolean;
  error?: string;
}

const nothing = (): WireReply => ({ text: "", toolCalls: [], finished: false });

/** Reads a response body of any of the dialects. */
export function readReply(body: string, contentType = ""): WireReply {
  if (contentType.includes("event-stream") || /^\s*(?:data|event|id|:)/.test(body.slice(0, 64))) {
    return readEvents(serverEvents(body));
  }
  const json = asObject(parseJson(body));
  return json ? readWhole(json) : { ...nothing(), error: `not JSON: ${body.slice(0, 200)}` };
}

/** The JSON payloads of a text of server-sent events. */
export function serverEvents(body: string): unknown[] {
  const events: unknown[] = [];
  for (const block of body.split(/\r?\n\r?\n/)) {
    const data = block
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).replace(/^ /, ""))
      .join("\n");
    if (data === "") continue;
    events.push(data.trim() === "[DONE]" ? "[DONE]" : parseJson(data));
  }
  return events;
}

/** Reads a whole JSON answer. */
export function readWhole(json: Json): WireReply {
  const error = json["error"];
  if (error) return { ...nothing(), error: errorText(error) };
  if (json["object"] === "response" || Array.isArray(json["output"])) return readResponse(json);
  const choice = asObject(asArray(json["choices"])[0]);
  if (!choice) return { ...nothing(), ...meta(json), finished: Array.isArray(json["data"]) };
  const message = readChatMessage({ role: "assistant", ...asObject(choice["message"]) });
  return {
    ...nothing(),
    ...meta(json),
    text: message?.content || asString(choice["text"]) || "",
    ...(message?.reasoning && { reasoning: message.reasoning }),
    toolCalls: message?.toolCalls ?? [],
    finished: true,
    ...(choice["finish_reason"] === "length" && { cutByLimit: true }),
  };
}

function readResponse(json: Json): WireReply {
  const messages: Message[] = [];
  for (const item of asArray(json["output"])) addResponsesItem(messages, asObject(item) ?? {});
  const said = messages.filter((message) => message.role === "assistant");
  const status = asString(json["status"]) ?? "completed";
  return {
    ...nothing(),
    ...meta(json),
    text: said.map((message) => message.content).join(""),
    ...(said.some((message) => message.reasoning) && {
      reasoning: said.map((message) => message.reasoning ?? "").join(""),
    }),
    toolCalls: said.flatMap((message) => message.toolCalls ?? []),
    finished: status === "completed" || status === "incomplete",
    ...(status === "incomplete" && { cutByLimit: true }),
    ...(status === "failed" && { error: errorText(json["error"]) }),
  };
}

function readEvents(events: readonly unknown[]): WireReply {
  const reply = nothing();
  const calls = new Map<number, ToolCall>();
  for (const event of events) {
    if (event === "[DONE]") {
      reply.finished = true;
      continue;
    }
    const json = asObject(event);
    if (!json) continue;
    const type = asString(json["type"]);
    if (type?.startsWith("response.")) {
      const whole = asObject(json["response"]);
      if (whole && /^response\.(?:completed|incomplete|failed)$/.test(type)) return readResponse(whole);
      if (type === "response.output_text.delta") reply.text += asText(json["delta"]);
      continue;
    }
    if (json["error"]) reply.error = errorText(json["error"]);
    Object.assign(reply, meta(json));
    for (const item of asArray(json["choices"])) addChoice(reply, calls, asObject(item) ?? {});
  }
  reply.toolCalls = [...calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call);
  return reply;
}

function addChoice(reply: WireReply, calls: Map<number, ToolCall>, choice: Json): void {
  if ((asNumber(choice["index"]) ?? 0) !== 0) return; // only the first of several samples is the conversation
  const delta = asObject(choice["delta"]) ?? {};
  reply.text += contentText(delta["content"]) || asString(choice["text"]) || "";
  const reasoning = asString(delta["reasoning_content"]) ?? asString(delta["reasoning"]);
  if (reasoning) reply.reasoning = (reply.reasoning ?? "") + reasoning;
  for (const item of asArray(delta["tool_calls"])) {
    const raw = asObject(item) ?? {};
    const index = asNumber(raw["index"]) ?? calls.size;
    const call = calls.get(index) ?? { id: "", name: "", arguments: "" };
    const called = asObject(raw["function"]) ?? {};
    call.id ||= asString(raw["id"]) ?? "";
    call.name += asString(called["name"]) ?? "";
    call.arguments += asString(called["arguments"]) ?? "";
    calls.set(index, call);
  }
  const finish = asString(choice["finish_reason"]);
  if (finish) reply.finished = true;
  if (finish === "length") reply.cutByLimit = true;
}

function meta(json: Json): Partial<WireReply> {
  const usage = asObject(json["usage"]);
  const details = asObject(usage?.["prompt_tokens_details"]) ?? asObject(usage?.["input_tokens_details"]);
  const found = {
    responseId: asString(json["id"]),
    model: asString(json["model"]),
    promptTokens: asNumber(usage?.["prompt_tokens"] ?? usage?.["input_tokens"]),
    completionTokens: asNumber(usage?.["completion_tokens"] ?? usage?.["output_tokens"]),
    cachedTokens: asNumber(details?.["cached_tokens"]),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** What an error body says, in one line. */
export function errorText(error: unknown): string {
  return (asString(asObject(error)?.["message"]) ?? asText(error)).slice(0, 2000);
}
