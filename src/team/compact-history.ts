/**
 * A long run outgrows any context. When the manager's history passes its limit, what comes before the newest exchange
 * is replaced by a summary: the question, the plan, and every step with its report .
 * Calls and their results stay together.
 */
import type { Message } from "../core/message.ts";
import { historySummary } from "./requests.ts";
import { describeWork, type MemoryEntry } from "./working-memory.ts";

export function historyCharacters(messages: readonly Message[]): number {
  let characters = 0;
  for (const message of messages) {
    characters += message.content.length;
    for (const call of message.toolCalls ?? []) characters += call.arguments.length;
  }
  return characters;
}

/** Shortens a history in place once it is over the limit; true when it did. */
export function compactHistory(
  messages: Message[],
  known: { question: string; plan: string; work: readonly MemoryEntry[] },
  maxCharacters: number,
): boolean {
  if (historyCharacters(messages) <= maxCharacters) return false;
  const tail = tailStart(messages);
  if (tail <= 1) return false;
  // Half of the limit for all steps together, so that there is room for more.
  const each = Math.max(100, Math.floor(maxCharacters / 4 / Math.max(1, known.work.length)));
  const steps = describeWork(known.work, each, each);
  messages.splice(0, tail, historySummary(known.question, known.plan, steps));
  return true;
}

/** Where the newest exchange starts: at the newest reply whose results follow it, or at the newest message. */
function tailStart(messages: readonly Message[]): number {
  let at = messages.length - 1;
  while (at > 0 && messages[at]!.role === "tool") at--;
  // A reply with calls must keep its results; a lone reply or request is complete by itself.
  return at;
}
