/** Conversations in the OpenAI training shape, `{messages: [...], tools?}`: each assistant message was one model call. */

import { hasMedia, readChatMessage, readTools } from "../../base/wire/openai-chat.ts";
import type { ToolDefinition } from "../../base/wire/wire-api.ts";
import { asArray, asNumber, asObject, asString } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { assembleRun, type CallParts } from "../assemble-run.ts";
import { beginsTurn } from "../user-turn.ts";

/** One conversation of one agent: a run for each turn of the user, the turns before as its history. */
export function messagesToRuns(record: Record<string, unknown>, fallbackId: string): TeamRun[] {
  const raw = asArray(record["messages"] ?? record["conversations"]).map((item) => {
    const one = asObject(item);
    // ShareGPT says from and value.
    return one && "from" in one && !("role" in one) ? { role: one["from"], content: one["value"] } : item;
  });
  const messages = raw.flatMap((item) => readChatMessage(item) ?? []);
  const id = asString(record["id"]) ?? asString(record["task_id"]) ?? fallbackId;
  const media = raw.some((item) => hasMedia(asObject(item)?.["content"]));
  const calls = conversationCalls(messages, "agent-1", readTools(record["tools"]), raw);
  const turns: CallParts[][] = [[]];
  for (const [index, call] of calls.entries()) {
    if (index > 0 && beginsTurn(calls[index - 1]!, call)) turns.push([]);
    turns.at(-1)!.push(media ? { ...call, lost: ["media"] } : call);
  }
  const several = turns.length > 1;
  return turns.map((own, index) =>
    assembleRun({
      id: several ? `${id}.${index + 1}` : id,
      ...(several && { session: id }),
      // A task or a score of a conversation belongs to its last turn.
      ...(!(several && index < turns.length - 1) &&
        asString(record["task_id"]) !== undefined && { taskId: asString(record["task_id"])! }),
      source: "import:messages",
      agents: [{ id: "agent-1", name: asString(record["agent"]) ?? "agent" }],
      calls: own,
      ...(index === turns.length - 1 && feedbackOf(record)),
      notes: ["token counts are not in the file", ...(media ? ["images or files are named, not kept"] : [])],
    }),
  );
}

/** The score or feedback that the record carries, where it does. */
function feedbackOf({ score, reward, feedback }: Record<string, unknown>): Pick<TeamRun, "feedback"> {
  const given = [score ?? reward, ...asArray(feedback)].flatMap((one) => {
    const { name = "score", score: value = one } = asObject(one) ?? {};
    const number = typeof value === "boolean" ? Number(value) : asNumber(value);
    return number === undefined ? [] : [{ name: asString(name) ?? "score", score: number }];
  });
  return given.length > 0 ? { feedback: given } : {};
}

/** The model calls that a whole conversation shows. */
function conversationCalls(
  messages: readonly Message[],
  agentId: string,
  tools: ToolDefinition[],
  raw: readonly unknown[] = [],
): CallParts[] {
  const results = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool" && message.toolCallId) results.set(message.toolCallId, message.content);
  }
  return messages.flatMap((message, index): CallParts[] => {
    if (message.role !== "assistant") return [];
    const usage = asObject(asObject(raw[index])?.["usage"]);
    return [
      {
        agentId,
        messages: messages.slice(0, index),
        tools,
        text: message.content,
        ...(message.reasoning && { reasoning: message.reasoning }),
        toolCalls: (message.toolCalls ?? []).map((call) => ({
          ...call,
          ...(results.has(call.id) && { result: results.get(call.id) }),
        })),
        promptTokens: asNumber(usage?.["prompt_tokens"]) ?? 0,
        completionTokens: asNumber(usage?.["completion_tokens"]) ?? 0,
        startedAt: index,
        endedAt: index,
      },
    ];
  });
}
