/**
 * Who plays a role: a chat model, or a function that is given exactly what a model would be given (the messages and the
 * tools) and returns what a model would return. Scripted specialists are such functions, so one code path runs them all.
 */
import { randomUUID } from "node:crypto";
import { type CountTokens, estimateTokens, requestTokens } from "../base/count/token-estimate.ts";
import { messageOf } from "../core/errors.ts";
import type { ChatModel, ChatReply, ChatRequest } from "../core/model.ts";

/** What a function that plays a role returns: the text alone, or text with thoughts (recorded, never sent on) and calls. */
export type RoleReply =
  | string
  | { text?: string; reasoning?: string; toolCalls?: readonly { name: string; input: unknown }[] };

export type RolePlayer = ChatModel | ((request: ChatRequest) => RoleReply | Promise<RoleReply>);
export type RoleFunction = Exclude<RolePlayer, ChatModel>;

/** A player as a chat model: functions get a name, call ids, and their tokens counted. */
export function asChatModel(player: RolePlayer, countTokens: CountTokens = estimateTokens): ChatModel {
  if (typeof player !== "function") return player;
  return {
    name: player.name || "function",
    countTokens,
    async chat(request): Promise<ChatReply> {
      const reply = await player(request);
      const { text = "", reasoning, toolCalls = [] } = typeof reply === "string" ? { text: reply } : reply;
      const calls = toolCalls.map((call) => ({
        id: `call-${randomUUID().slice(0, 12)}`,
        name: call.name,
        arguments: typeof call.input === "string" ? call.input : JSON.stringify(call.input),
      }));
      let completionTokens = countTokens(text) + (reasoning ? countTokens(reasoning) : 0);
      for (const call of calls) completionTokens += countTokens(call.name) + countTokens(call.arguments);
      const usage = { promptTokens: requestTokens(request, countTokens), completionTokens };
      const { maxTokens } = request;
      if (maxTokens !== undefined && completionTokens > maxTokens) {
        // It wrote more than it may: cut as a model would be, with calls that never came to their end.
        usage.completionTokens = maxTokens;
        return { text: text.slice(0, maxTokens), toolCalls: [], finish: "length", usage };
      }
      return { text, reasoning, toolCalls: calls, finish: calls.length > 0 ? "tool_calls" : "stop", usage };
    },
  };
}

/** The JSON object in a call's arguments, or why there is none. */
export function callInput(text: string): { input: Record<string, unknown> } | { problem: string } {
  try {
    const input: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    if (input !== null && typeof input === "object" && !Array.isArray(input)) {
      return { input: input as Record<string, unknown> };
    }
    return { problem: `the arguments must be one JSON object, not ${text.slice(0, 80)}` };
  } catch (error) {
    return { problem: `the arguments are not JSON (${messageOf(error)}): ${text.slice(0, 80)}` };
  }
}
