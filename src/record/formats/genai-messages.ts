/** Messages as tracing conventions write them: GenAI parts, the AI SDK's own, flattened attributes, content events. */

import { contentText, hasMedia, readChatMessage, readTools } from "../../base/wire/openai-chat.ts";
import { readFinish } from "../../base/wire/reply-facts.ts";
import type { ToolDefinition } from "../../base/wire/wire-api.ts";
import { asArray, asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import type { TraceSpan } from "../trace-span.ts";
import type { OtlpSpan } from "./otlp-spans.ts";

type Json = Record<string, unknown>;

/** GenAI messages: `[{role, parts: [...]}]`, as JSON text or as a value. */
export function readPartMessages(value: unknown): Message[] {
  const list = typeof value === "string" ? parseJson(value) : value;
  return asArray(list).flatMap((item) => {
    const raw = asObject(item);
    if (!raw) return [];
    if (!Array.isArray(raw["parts"])) return readSdkMessage(raw);
    return fromParts(asString(raw["role"]) ?? "user", raw["parts"]);
  });
}

function fromParts(role: string, parts: readonly unknown[]): Message[] {
  const base = readChatMessage({ role, content: "" }) ?? { role: "user" as const, content: "" };
  const answers: Message[] = [];
  const calls: ToolCall[] = [];
  for (const part of parts) {
    const raw = asObject(part) ?? {};
    const type = asString(raw["type"]);
    if (type === "tool_call") calls.push(toolCall(raw["id"], raw["name"], raw["arguments"]));
    else if (type === "tool_call_response") {
      answers.push({
        role: "tool",
        content: plainText(raw["response"] ?? raw["result"]),
        toolCallId: asString(raw["id"]) ?? "",
      });
    } else if (type === "reasoning" || type === "thinking") {
      base.reasoning = (base.reasoning ?? "") + asText(raw["content"] ?? raw["text"]);
    } else base.content += asString(raw["content"]) ?? asString(raw["text"]) ?? (type ? `[${type}]` : "");
  }
  if (calls.length > 0) base.toolCalls = calls;
  return answers.length > 0 && base.role !== "assistant" && base.content === "" ? answers : [base, ...answers];
}

/** The AI SDK's messages: content is text or parts of type text, tool-call, tool-result, reasoning. */
export function readSdkMessage(raw: Json): Message[] {
  const content = raw["content"];
  const parts = asArray(content).map((part) => asObject(part) ?? {});
  const results = parts.filter((part) => part["type"] === "tool-result");
  if (results.length > 0) {
    return results.map((part) => ({
      role: "tool",
      content: plainText(asObject(part["output"])?.["value"] ?? part["output"] ?? part["result"]),
      toolCallId: asString(part["toolCallId"]) ?? "",
    }));
  }
  const kept = parts.filter((part) => part["type"] !== "tool-call" && part["type"] !== "reasoning");
  const message = readChatMessage({ ...raw, content: Array.isArray(content) ? contentText(kept) : content });
  if (!message) return [];
  const calls = parts.filter((part) => part["type"] === "tool-call");
  if (calls.length > 0) {
    message.toolCalls = calls.map((part) =>
      toolCall(part["toolCallId"], part["toolName"], part["input"] ?? part["args"]),
    );
  }
  const reasoning = parts.filter((part) => part["type"] === "reasoning").map((part) => asText(part["text"]));
  if (reasoning.length > 0) message.reasoning = reasoning.join("");
  return [message];
}

/** A tool call with its arguments as text. */
export function toolCall(id: unknown, name: unknown, input: unknown): ToolCall {
  return { id: asString(id) ?? "", name: asText(name), arguments: asText(input) };
}

/** A result as the model read it: JSON of a string is that string, anything else stays as it is. */
export function plainText(value: unknown): string {
  if (typeof value !== "string") return asText(value);
  const parsed = value.startsWith('"') ? parseJson(value) : undefined;
  return typeof parsed === "string" ? parsed : value;
}

/** System instructions: plain text, or `[{type: "text", content}]`. */
export function readInstructions(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const list = typeof value === "string" ? parseJson(value) : value;
  if (!Array.isArray(list)) return asString(value);
  return list.map((part) => asText(asObject(part)?.["content"] ?? asObject(part)?.["text"])).join("\n");
}

/** Tool definitions in any spelling; a list of names alone counts as tools without schema. */
export function readDefinitions(value: unknown): ToolDefinition[] | undefined {
  const list = typeof value === "string" ? parseJson(value) : value;
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((item) => {
    const parsed = typeof item === "string" ? parseJson(item) : item;
    if (typeof item === "string" && !asObject(parsed)) return [{ name: item }];
    return readTools([parsed]);
  });
}

/** Messages flattened into attributes: `<prefix>.0.role`, `<prefix>.0.tool_calls.1.name`… in several spellings. */
export function readFlattened(attributes: Json, prefix: string): Message[] {
  const messages: Message[] = [];
  for (let index = 0; index < 100_000; index++) {
    const at = [`${prefix}.${index}.message`, `${prefix}.${index}`].find(
      (base) => attributes[`${base}.role`] !== undefined || attributes[`${base}.content`] !== undefined,
    );
    if (at === undefined) break;
    const message = readChatMessage({
      role: rolesOfText.get(asText(attributes[`${at}.role`])) ?? asString(attributes[`${at}.role`]) ?? "assistant",
      content: asText(attributes[`${at}.content`]) || flattenedParts(attributes, `${at}.contents`),
    });
    if (!message) continue;
    const before = messages.at(-1);
    // What a text agent called is printed after what it wrote: on the wire both are one message.
    if (attributes[`${at}.role`] === "tool-call" && before?.role === "assistant") {
      before.content += `\n${message.content}`;
      continue;
    }
    const id = asString(attributes[`${at}.tool_call_id`]);
    if (message.role === "tool" && id) message.toolCallId = id;
    const calls = flattenedCalls(attributes, `${at}.tool_calls`);
    if (calls.length > 0) message.toolCalls = calls;
    messages.push(message);
  }
  return messages;
}

/** Roles of frameworks that write calls and results as text: on the wire they are the assistant's and the user's. */
const rolesOfText = new Map([
  ["tool-call", "assistant"],
  ["tool-response", "user"],
]);

/** A content of several parts; what is not text has none here. */
function flattenedParts(attributes: Json, prefix: string): string {
  const texts: string[] = [];
  for (let index = 0; attributes[`${prefix}.${index}.message_content.type`] !== undefined; index++)
    texts.push(asText(attributes[`${prefix}.${index}.message_content.text`]));
  return texts.filter((text) => text !== "").join("\n");
}

function flattenedCalls(attributes: Json, prefix: string): ToolCall[] {
  const calls: ToolCall[] = [];
  for (let index = 0; index < 10_000; index++) {
    const nested = `${prefix}.${index}.tool_call`;
    const name = attributes[`${nested}.function.name`] ?? attributes[`${prefix}.${index}.name`];
    if (name === undefined) break;
    calls.push(
      toolCall(
        attributes[`${nested}.id`] ?? attributes[`${prefix}.${index}.id`],
        name,
        attributes[`${nested}.function.arguments`] ?? attributes[`${prefix}.${index}.arguments`],
      ),
    );
  }
  return calls;
}

/** The older convention: one event for each message, the reply as `gen_ai.choice`. */
export function readContentEvents(span: OtlpSpan): { input: Message[]; output: Message[] } {
  const input: Message[] = [];
  const output: Message[] = [];
  for (const { name, attributes } of span.events) {
    const role = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(name)?.[1];
    const body = asObject(parseJson(attributes["gen_ai.event.content"])) ?? attributes;
    if (role) {
      const content = body["content"] ?? body[`gen_ai.${role}.message.content`];
      if (content === undefined && body["tool_calls"] === undefined) continue;
      const calls = typeof body["tool_calls"] === "string" ? parseJson(body["tool_calls"]) : body["tool_calls"];
      const message = readChatMessage({ role, content, tool_calls: calls, tool_call_id: body["id"] });
      if (message) input.push(message);
    } else if (name === "gen_ai.choice") {
      const raw = body["message"];
      const message = asObject(typeof raw === "string" ? (parseJson(raw) ?? { content: raw }) : raw);
      const read = message && readChatMessage({ role: "assistant", ...message });
      if (read && (read.content !== "" || read.toolCalls)) output.push(read);
    }
  }
  return { input, output };
}

/** How the reply of a traced call ended, and what its raw messages hold that text can't: each only where the trace tells. */
export function endAndLosses(
  finish: unknown,
  ...messages: readonly unknown[]
): Pick<NonNullable<TraceSpan["call"]>, "finish" | "lost"> {
  const read = readFinish(asArray(parseJson(finish))[0] ?? finish); // some exporters write the list as text
  const shown = messages.flatMap((value) => {
    const list = typeof value === "string" ? parseJson(value) : value;
    return asArray(asArray(asObject(list)?.["messages"] ?? list).flat()).flatMap(contentsOf);
  });
  return { ...(read && { finish: read }), ...(shown.some(hasMedia) && { lost: ["media" as const] }) };
}

/** The lists of parts in a message of any shape, those of its tool results among them. */
function contentsOf(message: unknown): unknown[] {
  const raw = asObject(message) ?? {};
  const inner = asObject(raw["kwargs"]) ?? asObject(raw["data"]) ?? raw;
  const parts = [...asArray(inner["content"]), ...asArray(inner["parts"])];
  const results = parts.flatMap((part) => {
    const { output, content, result, response } = asObject(part) ?? {};
    return [asObject(output)?.["value"] ?? output, content, result, response].filter(Array.isArray);
  });
  return [parts, ...results];
}

export function replyOf(output: readonly Message[]): NonNullable<TraceSpan["call"]> {
  const said = output.filter((message) => message.role === "assistant");
  const reasoning = said.map((message) => message.reasoning ?? "").join("");
  return {
    text: said.map((message) => message.content).join(""),
    ...(reasoning && { reasoning }),
    toolCalls: said.flatMap((message) => message.toolCalls ?? []),
  };
}
