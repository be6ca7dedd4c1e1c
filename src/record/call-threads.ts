/**
 * Puts calls that one agent made into one thread. A call continues the thread whose reply is in its history: known by
 * the ids, names and arguments of the tool calls it repeats, or by the words of the reply. The same history under other
 * instructions and other tools is a hand-over to another agent.
 */

import { isPlaceId } from "../base/wire/call-ids.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { canonicalJson, parseJson } from "../core/json-value.ts";
import type { Message, ToolCall } from "../core/message.ts";
import { askedQuestion } from "../language/team-moves.ts";
import { isTransfer, nameFromCall } from "./agent-name.ts";
import { type CallFlow, callFlow, nearestInFlow } from "./call-flow.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { beginsTurn } from "./user-turn.ts";

/** The calls of one activation of an agent, in order. */
export interface Thread {
  id: string;
  calls: RecordedCall[];
  handoffFrom?: Thread;
  /** The thread whose conversation it resumes with a new question: the user's, or the next task of a worker with a memory. */
  resumes?: Thread;
  /** A call was put here by its content alone. */
  inferred?: boolean;
  /** The same for threads that share one history: makes call ids that are only places in it unique. */
  lineage: string;
  /** Tool results by call id, with the time of the request in which each first appeared. */
  results: Map<string, { text: string; at: number }>;
}

/** Sorts calls (all of one run, or of unknown runs) into threads, in the order in which the threads began. */
export function callThreads(calls: readonly RecordedCall[], flow: CallFlow = callFlow(calls)): Thread[] {
  const threads: Thread[] = [];
  const byAgent = new Map<string, Thread>();
  const replies = new Map<string, Entry[]>();
  const failures = new Map<string, Thread>();
  /** Who was named by a call that moves control, and by whom. */
  const transfers = new Map<string, Thread>();
  const byResponse = new Map<string, RecordedCall>();
  const byConversation = new Map<string, RecordedCall>();

  const begin = (call: RecordedCall, handoffFrom?: Thread, resumes?: Thread): Thread => {
    const lineage = (handoffFrom ?? resumes)?.lineage ?? `c${threads.length + 1}`;
    const thread: Thread = { id: call.agent?.id ?? `agent-of-${call.id}`, calls: [], lineage, results: new Map() };
    if (handoffFrom) thread.handoffFrom = handoffFrom;
    if (resumes) thread.resumes = resumes;
    threads.push(thread);
    return thread;
  };

  for (const given of [...calls].sort((a, b) => a.startedAt - b.startedAt)) {
    const call = withServerHistory(given, byResponse, byConversation);
    const opening = fingerprint(canonicalJson(call.messages));
    const { agent } = call;
    const found = agent && (agent.parent || byAgent.has(agent.id)) ? undefined : predecessor(call, replies, flow);
    let thread: Thread;
    if (agent) {
      // An agent that goes on with its own conversation is the same one, however often the framework starts it.
      const before = found?.entry.thread;
      const same = before && agent.name !== undefined && before.calls[0]?.agent?.name === agent.name;
      const handed = found && !agent.handoffFrom && isHandoff(found.entry.call, call);
      const from = handed ? before : agent.handoffFrom || agent.parent ? undefined : transfers.get(agent.name ?? "");
      thread = byAgent.get(agent.id) ?? (same ? before : begin(call, from));
      byAgent.set(agent.id, thread);
    } else if (found) {
      const { entry } = found;
      entry.continued = true;
      settleReply(entry);
      if (isHandoff(entry.call, call)) thread = handedBack(entry, call) ?? begin(call, entry.thread);
      else thread = beginsTurn(entry.call, call) ? begin(call, undefined, entry.thread) : entry.thread;
      if (!found.known) thread.inferred = true;
    } else thread = failures.get(opening) ?? begin(call);
    const unique = withReplyIds({ ...withUniqueIds(call, thread.lineage) }, thread);
    thread.calls.push(unique);
    noteResults(thread, unique);
    const told = call.agent?.handoffFrom;
    const before = thread.handoffFrom ?? (told === undefined ? undefined : byAgent.get(told));
    if (before) noteResults(before, unique);
    for (const tool of call.toolCalls) if (isTransfer(tool.name)) transfers.set(nameFromCall(tool), thread);
    if (call.error !== undefined) failures.set(opening, thread);
    if (call.responseId) byResponse.set(call.responseId, call);
    if (call.conversation) byConversation.set(call.conversation, call);
    for (const one of [call, ...(call.others ?? [])]) {
      const entry = { call: one === call ? call : { ...call, ...one }, kept: unique, thread, continued: false };
      for (const key of replyKeys(one.text, one.toolCalls)) addTo(replies, key, entry);
    }
  }
  return threads;
}

/** Puts threads back together whose new question came from the user and not from another agent's call. */
export function joinTurns(threads: readonly Thread[], isLinked: (thread: Thread) => boolean): Map<Thread, Thread> {
  const joined = new Map<Thread, Thread>();
  for (const thread of threads) {
    if (!thread.resumes || isLinked(thread)) continue;
    const whole = joined.get(thread.resumes) ?? thread.resumes;
    joined.set(thread, whole);
    whole.calls.push(...thread.calls);
    whole.calls.sort((a, b) => a.startedAt - b.startedAt);
    for (const [id, result] of thread.results) if (!whole.results.has(id)) whole.results.set(id, result);
    if (thread.inferred) whole.inferred = true;
  }
  for (const thread of threads) {
    const from = thread.handoffFrom && joined.get(thread.handoffFrom);
    if (from) thread.handoffFrom = from;
  }
  return joined;
}

/** Ids that are only places in a history, made unique by the history's name. */
function withUniqueIds(call: RecordedCall, lineage: string): RecordedCall {
  const fix = (tool: ToolCall) => (isPlaceId(tool.id) ? { ...tool, id: `${lineage}-${tool.id}` } : tool);
  const places = (tools: readonly ToolCall[] = []) => tools.some((tool) => isPlaceId(tool.id));
  if (!places(call.toolCalls) && !call.messages.some((message) => places(message.toolCalls))) return call;
  return {
    ...call,
    toolCalls: call.toolCalls.map(fix),
    messages: call.messages.map((message) => {
      if (isPlaceId(message.toolCallId ?? "")) return { ...message, toolCallId: `${lineage}-${message.toolCallId}` };
      return message.toolCalls ? { ...message, toolCalls: message.toolCalls.map(fix) } : message;
    }),
  };
}

/** Some clients make up new ids for calls that had none: what repeats a reply's calls in order gets the ids of the reply. */
function withReplyIds(call: RecordedCall, thread: Thread): RecordedCall {
  const replies = thread.calls.filter(({ toolCalls }) => toolCalls.length > 0);
  const known = new Set(replies.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id)));
  if (!replies.some(({ toolCalls }) => toolCalls.some(({ id }) => isPlaceId(id.slice(id.indexOf("-") + 1)))))
    return call;
  const ids = new Map<string, string>();
  let next = 0;
  for (const { toolCalls: said = [] } of call.messages) {
    if (said.length === 0 || said.every(({ id }) => known.has(id))) continue;
    const key = (tools: readonly ToolCall[]) => replyKeys("", tools)[1];
    const at = replies.findIndex((reply, index) => index >= next && key(reply.toolCalls) === key(said));
    if (at < 0) continue;
    next = at + 1;
    for (const [index, { id }] of said.entries()) ids.set(id, replies[at]!.toolCalls[index]!.id);
  }
  if (ids.size === 0) return call;
  return {
    ...call,
    messages: call.messages.map((message) => ({
      ...message,
      ...(message.toolCallId && { toolCallId: ids.get(message.toolCallId) ?? message.toolCallId }),
      ...(message.toolCalls && {
        toolCalls: message.toolCalls.map((tool) => ({ ...tool, id: ids.get(tool.id) ?? tool.id })),
      }),
    })),
  };
}

/** The history that the server kept is put in front, so that the call reads like any other. */
function withServerHistory(
  call: RecordedCall,
  byResponse: ReadonlyMap<string, RecordedCall>,
  byConversation: ReadonlyMap<string, RecordedCall>,
): RecordedCall {
  const { previousResponseId, conversation } = call;
  if (previousResponseId === undefined && conversation === undefined) return call;
  const before =
    previousResponseId !== undefined ? byResponse.get(previousResponseId) : byConversation.get(conversation ?? "");
  if (!before) {
    // A conversation may have begun before the recording did.
    const notes = [...(call.notes ?? []), "its history stayed on the server"];
    return { ...call, lost: [...(call.lost ?? []), "server-history"], notes };
  }
  const said: Message = { role: "assistant", content: before.text };
  if (before.toolCalls.length > 0) said.toolCalls = before.toolCalls;
  const ran = (before.hosted ?? []).flatMap(({ result, ...tool }): Message[] => [
    { role: "assistant", content: "", toolCalls: [tool] },
    ...(result === undefined ? [] : [{ role: "tool" as const, content: result, toolCallId: tool.id }]),
  ]);
  const system = call.messages.filter((message) => message.role === "system");
  const history = system.length > 0 ? before.messages.filter((message) => message.role !== "system") : before.messages;
  // What the history lacks, this call's prompt lacks too.
  const lost = [...new Set([...(before.lost ?? []), ...(call.lost ?? [])])];
  return {
    ...call,
    ...(lost.length > 0 && { lost }),
    messages: [...system, ...history, ...ran, said, ...call.messages.filter((message) => message.role !== "system")],
  };
}

/** A reply that a later call may repeat; one of several to the same request has the call as it is kept beside it. */
type Entry = { call: RecordedCall; kept: RecordedCall; thread: Thread; continued: boolean };

/** Of several replies to one request, the one that a later call repeats was used. */
function settleReply({ call, kept, thread }: Entry): void {
  if (!kept.others) return;
  const { text, toolCalls, reasoning, finish } = withUniqueIds(call, thread.lineage);
  Object.assign(kept, { text, toolCalls, reasoning, finish });
  delete kept.others;
}

/** The call whose reply this one continues, and whether the program's flow says so too. */
function predecessor(
  call: RecordedCall,
  replies: ReadonlyMap<string, Entry[]>,
  flow: CallFlow,
): { entry: Entry; known: boolean } | undefined {
  const last = call.messages.findLastIndex((message) => message.role === "assistant");
  for (let index = last; index >= 0; index--) {
    const message = call.messages[index]!;
    if (message.role !== "assistant") continue;
    for (const key of replyKeys(message.content, message.toolCalls ?? [])) {
      const fitting = (replies.get(key) ?? []).filter(
        (entry) =>
          entry.call.startedAt <= call.startedAt && sameOpening(entry.call, call, (message.toolCalls ?? []).length > 0),
      );
      const near = nearestInFlow(call, flow, fitting, (entry) => entry.call.id)?.at(-1);
      if (near) return { entry: near, known: true };
      const same = fitting.length > 1 ? fitting.filter((entry) => isPast(entry.call, call)) : fitting;
      const best = same.length > 0 ? same : fitting;
      const chosen = best.findLast((entry) => !entry.continued) ?? best.at(-1);
      if (chosen) return { entry: chosen, known: false };
    }
  }
  return undefined;
}

/** Whether all that a call was told before stands at the beginning of a later one: identical tasks differ in their results. */
function isPast(before: RecordedCall, call: RecordedCall): boolean {
  const told = (one: RecordedCall) => one.messages.filter(({ role }) => role !== "system");
  const now = told(call);
  return told(before).every(({ role, content }, index) => now[index]?.role === role && now[index].content === content);
}

/** From the surest sign to the weakest; a reply with calls is never recognised by its words alone. */
function replyKeys(text: string, toolCalls: readonly ToolCall[]): string[] {
  if (toolCalls.length === 0) return text.trim() === "" ? [] : [`text:${text.trim()}`];
  const what = toolCalls.map((call) => `${call.name}(${argumentsKey(call.arguments)})`);
  const ids = toolCalls.map((call, index) => `${call.id}=${what[index]}`);
  // Some frameworks repeat only one of several calls, or each in a message of its own.
  // Without ids of their own, calls are told apart by the words beside them.
  const beside =
    toolCalls.some(({ id }) => isPlaceId(id)) && text.trim() !== "" ? [`said:${text.trim()};${what.join(";")}`] : [];
  return [...beside, `calls:${ids.join(";")}`, `same:${what.join(";")}`, ...ids.map((id) => `one:${id}`)];
}

/** Arguments compared as values: frameworks parse and write them again. */
export function argumentsKey(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : canonicalJson(value);
}

/** Words alone are weak, so the beginning must be the same too; calls are strong, and histories get compacted. */
function sameOpening(before: RecordedCall, call: RecordedCall, byCalls: boolean): boolean {
  const first = (one: RecordedCall) => one.messages.find((message) => message.role === "user")?.content;
  if (byCalls && before.toolCalls.every((tool) => tool.id !== "")) {
    const ids = new Set(call.messages.flatMap((message) => message.toolCalls ?? []).map((tool) => tool.id));
    if (before.toolCalls.some((tool) => ids.has(tool.id) && !isPlaceId(tool.id))) return true;
  }
  return first(before) === first(call);
}

function isHandoff(before: RecordedCall, call: RecordedCall): boolean {
  if (systemOf(before) === systemOf(call)) return false;
  const names = (one: RecordedCall) =>
    one.tools
      .map((tool) => tool.name)
      .sort()
      .join(",");
  return names(before) !== names(call) || before.toolCalls.some((tool) => isTransfer(tool.name));
}

/** In a shared history of our own team a member that has reported gives control back: the manager goes on, it is not asked anew. */
function handedBack({ call: before, thread }: Entry, call: RecordedCall): Thread | undefined {
  const first = call.messages.find((message) => message.role === "user")?.content ?? "";
  if (before.toolCalls.some(({ name }) => isTransfer(name)) || askedQuestion(first) === undefined) return undefined;
  for (let above = thread.handoffFrom; above; above = above.handoffFrom)
    if (systemOf(above.calls[0]!) === systemOf(call)) return above;
  return undefined;
}

/** Who an agent is, by its instructions. */
export function systemOf(call: RecordedCall): string {
  return call.messages
    .filter((message) => message.role === "system")
    .map((message) => message.content)
    .join("\n");
}

function noteResults(thread: Thread, call: RecordedCall): void {
  for (const message of call.messages) {
    if (message.role !== "tool" || !message.toolCallId || thread.results.has(message.toolCallId)) continue;
    thread.results.set(message.toolCallId, { text: message.content, at: call.startedAt });
  }
}
