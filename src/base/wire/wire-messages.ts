/** Reads the messages and tools of OpenAI-style requests: chat completions, responses, plain completions. */
import type { Message, ToolCall } from "../../core/message.ts";
import { asArray, asObject, asString, asText, type ToolDefinition } from "../../record/recorded-call.ts";

type Json = Record<string, unknown>;

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
  const message: Message = { role, content: contentText(raw["content"]) };
  const reasoning = asString(raw["reasoning_content"]) ?? asString(raw["reasoning"]);
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

/** The text of a content field: a string, or parts. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .map((part) => {
      if (typeof part === "string") return part;
      const raw = asObject(part) ?? {};
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
  return asArray(value).flatMap((item) => {
    const raw = asObject(item);
    const body = asObject(raw?.["function"]) ?? raw;
    const name = asString(body?.["name"]) ?? asString(raw?.["type"]);
    if (!body || !name) return [];
    const description = asString(body["description"]);
    const parameters = body["parameters"] ?? body["inputSchema"] ?? body["input_schema"];
    return [{ name, ...(description && { description }), ...(parameters !== undefined && { parameters }) }];
  });
}

/** The conversation of a request to `/responses`: instructions, then items of several types. */
export function readResponsesInput(body: Json): Message[] {
  const messages: Message[] = [];
  const instructions = asString(body["instructions"]);
  if (instructions) messages.push({ role: "system", content: instructions });
  if (typeof body["input"] === "string") messages.push({ role: "user", content: body["input"] });
  for (const item of asArray(body["input"])) addResponsesItem(messages, asObject(item) ?? {});
  return messages;
}

/** Adds one item; calls and reasoning join the assistant message they belong to. */
export function addResponsesItem(messages: Message[], item: Json): void {
  const last = messages.at(-1);
  const assistant = (): Message => {
    if (last?.role === "assistant") return last;
    const made: Message = { role: "assistant", content: "" };
    messages.push(made);
    return made;
  };
  switch (item["type"]) {
    case "function_call":
    case "custom_tool_call": {
      const into = assistant();
      into.toolCalls = [
        ...(into.toolCalls ?? []),
        {
          id: asString(item["call_id"]) ?? asString(item["id"]) ?? "",
          name: asText(item["name"]),
          arguments: asText(item["arguments"] ?? item["input"]),
        },
      ];
      return;
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const output = item["output"];
      messages.push({
        role: "tool",
        content: Array.isArray(output) ? contentText(output) : asText(output),
        toolCallId: asString(item["call_id"]) ?? "",
      });
      return;
    }
    case "reasoning": {
      const text = contentText(item["summary"]) || contentText(item["content"]);
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
