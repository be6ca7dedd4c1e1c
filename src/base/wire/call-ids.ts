/**
 * Ids for tool calls of APIs that have none (Gemini, Ollama, OpenAI's old function calls): the place of the call in its
 * conversation. Calls and results are matched by name and order, as those APIs do. The ids are unique within one
 * conversation only; a caller that joins conversations makes them unique there.
 */
import type { Message, ToolCall } from "../../core/message.ts";

const made = /^place-\d+$/;

export function isPlaceId(id: string): boolean {
  return made.test(id);
}

/** Gives every call of a conversation an id, and every result the id of the call that it answers. */
export function fillCallIds(messages: readonly Message[]): void {
  let count = 0;
  const open: ToolCall[] = [];
  for (const message of messages) {
    for (const call of message.toolCalls ?? []) {
      count++;
      if (call.id !== "") continue;
      call.id = `place-${count}`;
      open.push(call);
    }
    if (message.role !== "tool" || message.toolCallId) continue;
    const named = open.findIndex((call) => message.name === undefined || call.name === message.name);
    const [call] = open.splice(Math.max(0, named), 1);
    message.toolCallId = call?.id ?? "";
  }
}

/** The calls of a reply, with ids that follow those of the conversation before it. */
export function fillReplyIds(messages: readonly Message[], toolCalls: readonly ToolCall[]): ToolCall[] {
  const before = messages.reduce((sum, message) => sum + (message.toolCalls?.length ?? 0), 0);
  return toolCalls.map((call, index) => (call.id === "" ? { ...call, id: `place-${before + index + 1}` } : call));
}
