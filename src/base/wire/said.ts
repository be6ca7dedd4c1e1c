/** What one message of a model says, whatever the API: the same parts become messages of a conversation or a reply. */
import { asString, asText, defined, type Json } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import { readFinish } from "./reply-facts.ts";
import type { HostedCall, ToolDefinition, WireReply } from "./wire-api.ts";

export interface Said {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  hosted: HostedCall[];
}

/** A message of which nothing was read yet. */
export const nothingSaid = (): Said => ({ text: "", reasoning: "", toolCalls: [], hosted: [] });

/** As messages of a conversation: a tool that the server ran is a call with its result. */
export function saidMessages({ text, reasoning, toolCalls, hosted }: Said): Message[] {
  const ran = hosted.flatMap(({ result, ...call }): Message[] => [
    { role: "assistant", content: "", toolCalls: [call] },
    ...(result === undefined ? [] : [{ role: "tool" as const, content: result, toolCallId: call.id }]),
  ]);
  return [
    ...ran,
    { role: "assistant", content: text, ...(reasoning && { reasoning }), ...(toolCalls.length > 0 && { toolCalls }) },
  ];
}

/** As a reply, which is finished where it says why it stopped. */
export function saidReply({ text, reasoning, toolCalls, hosted }: Said, stop: string | undefined): WireReply {
  return {
    text,
    ...(reasoning && { reasoning }),
    toolCalls,
    ...(hosted.length > 0 && { hosted }),
    ...(stop !== undefined && { finish: readFinish(stop) ?? "other" }),
    finished: stop !== undefined,
  };
}

/** A tool with the schema of its input, wherever the API puts that. */
export function readTool(raw: Json, parameters: unknown): ToolDefinition {
  const description = asString(raw["description"]) || undefined;
  return { name: asText(raw["name"]), ...defined({ description, parameters }) };
}
