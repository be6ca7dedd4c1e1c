/**
 * Conversations as lists of messages, `{messages: [...], tools?}` and what other logs call it: each assistant message was
 * one model call.
 */

import { hasMedia, readChatMessage, readTools } from "../../base/wire/openai-chat.ts";
import type { ToolDefinition } from "../../base/wire/wire-api.ts";
import { asArray, asNumber, asObject, asString, asText, defined } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { assembleRun, type CallParts } from "../assemble-run.ts";
import { beginsTurn } from "../user-turn.ts";
import { groupChatCalls, isGroupChat, markedAnswer } from "./group-chats.ts";
import { readTextProtocol } from "./text-protocols.ts";

type Json = Record<string, unknown>;

/** Names under which logs keep what a run needs, by themselves or one object deeper. `answer` is often the gold one. */
const fieldNames = {
  messages: ["messages", "conversations", "traj", "trajectory", "history"],
  question: ["question", "problem_statement", "problem"],
  answer: ["pred", "prediction", "given"],
  outcome: ["score", "reward", "correct", "is_correct", "is_corrected", "em", "success"],
  task: ["task_id", "instance_id", "question_ID"],
} as const;

/** Where a record keeps something, and what. */
function fieldOf(record: Json, kind: keyof typeof fieldNames): { name: string; value: unknown } | undefined {
  for (const holder of [record, ...Object.values(record).map((value) => asObject(value) ?? {})]) {
    const name = fieldNames[kind].find((one) => holder[one] !== undefined && holder[one] !== null);
    if (name !== undefined) return { name, value: holder[name] };
  }
  return undefined;
}

export function holdsMessages(record: Json): boolean {
  const first = asObject(asArray(fieldOf(record, "messages")?.value)[0]);
  return first !== undefined && ("role" in first || "from" in first);
}

/**
 * One conversation: a run for each turn of the user, the turns before as its history; one run where its outcome is of the
 * whole, or where several agents speak by their names.
 */
export function messagesToRuns(record: Json, fallbackId: string): TeamRun[] {
  const held = fieldOf(record, "messages");
  const raw = asArray(held?.value).map((item) => {
    const one = asObject(item);
    // ShareGPT says from and value, and has roles of its own for calls and results.
    if (!one || !("from" in one) || "role" in one) return item;
    const { from, value } = one;
    if (from === "function_call") return { role: "assistant", content: `<tool_call>${asText(value)}</tool_call>` };
    if (from === "observation") return { role: "tool", content: `<tool_response>${asText(value)}</tool_response>` };
    return { role: from, content: value };
  });
  const [asked, given, task] = [fieldOf(record, "question"), fieldOf(record, "answer"), fieldOf(record, "task")];
  const outcome = fieldOf(record, "outcome");
  const feedback = feedbackOf(record, raw);
  const took = [held, asked, given, outcome].flatMap((one) => one?.name ?? []);
  const id = asString(record["id"]) ?? asString(record["task_id"]) ?? fallbackId;
  const taskId = asString(task?.value);
  const parts = {
    id,
    source: "import:messages",
    ...(taskId !== undefined && { taskId }),
    ...(feedback.length > 0 && { feedback }),
    notes: ["token counts are not in the file", `read from the fields ${took.join(", ")}`],
  };
  if (isGroupChat(raw)) {
    const chat = groupChatCalls(raw);
    const answer = given ? asText(given.value).trim() || null : markedAnswer(chat.calls.at(-1)?.text ?? "");
    const question = asString(asked?.value);
    return [assembleRun({ ...parts, ...chat, ...defined({ answer, question }), topology: "handoff" })];
  }
  const messages = readTextProtocol(raw.flatMap((item) => readChatMessage(item) ?? []));
  const media = raw.some((item) => hasMedia(asObject(item)?.["content"]));
  if (media) parts.notes.push("images or files are named, not kept");
  const lost = media ? { lost: ["media" as const] } : {};
  const callsOf = (all: readonly Message[]) =>
    conversationCalls(all, "agent-1", readTools(record["tools"]), raw).map((call) => ({ ...call, ...lost }));
  const calls = callsOf(messages);
  const turns: CallParts[][] = [[]];
  for (const [index, call] of calls.entries()) {
    if (index > 0 && beginsTurn(calls[index - 1]!, call)) turns.push([]);
    turns.at(-1)!.push(call);
  }
  const agents = [{ id: "agent-1", name: asString(record["agent"]) ?? "agent" }];
  if (turns.length === 1) return [assembleRun({ ...parts, agents, calls })];
  if (outcome !== undefined && outcome.name !== "score") {
    parts.notes.push("the outcome is of the whole conversation: what the user said in it are results of ask_user");
    return [assembleRun({ ...parts, agents, calls: callsOf(askingUser(messages)) })];
  }
  // A task or a score of a conversation belongs to its last turn.
  const { taskId: _taskId, feedback: _feedback, ...earlier } = parts;
  return turns.map((own, index) => {
    const shared = index === turns.length - 1 ? parts : earlier;
    return assembleRun({ ...shared, id: `${id}.${index + 1}`, session: id, agents, calls: own });
  });
}

/** A conversation that is one task, as its agent works: it asks the user, who answers as a tool does; its last words are the answer. */
function askingUser(messages: readonly Message[]): Message[] {
  const end = messages.findLastIndex(({ role }) => role === "assistant");
  const asks = (at: number) =>
    at >= 0 &&
    at < end &&
    messages[at]!.role === "assistant" &&
    !messages[at]!.toolCalls &&
    messages[at + 1]!.role === "user";
  return messages.map((message, at) => {
    if (asks(at - 1)) return { role: "tool", content: message.content, toolCallId: `ask-${at}` };
    if (!asks(at)) return message;
    const call = { id: `ask-${at + 1}`, name: "ask_user", arguments: JSON.stringify({ message: message.content }) };
    return { ...message, content: "", toolCalls: [call] };
  });
}

/** The outcome or feedback that the record carries, where it does; some environments say it as their last words. */
function feedbackOf(record: Json, raw: readonly unknown[]): NonNullable<TeamRun["feedback"]> {
  const outcome = fieldOf(record, "outcome");
  const said = /\breward = (True|False)\s*$/.exec(asText(asObject(raw.at(-1))?.["content"]))?.[1];
  const first = outcome
    ? { name: outcome.name, score: outcome.value }
    : said && { name: "reward", score: said === "True" };
  return [first, ...asArray(record["feedback"])].flatMap((one) => {
    const { name = "score", score: value = one } = asObject(one) ?? {};
    const number = typeof value === "boolean" ? Number(value) : asNumber(value);
    return number === undefined ? [] : [{ name: asString(name) ?? "score", score: number }];
  });
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
