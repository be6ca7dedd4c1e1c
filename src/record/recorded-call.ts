/**
 * One model call as it was sent and answered: what was asked, what came back, how it ended. The proxy and the preload
 * produce these; trace formats produce the same shape from spans. Everything later (threads, links, team runs) starts
 * here.
 */
import type { HostedCall, Loss, ToolDefinition, WireFinish, WireReply } from "../base/wire/wire-api.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamStep } from "../core/team-run.ts";

/** How a call ended: whole, refused by the server, left by the client, or broken off by the server. */
export type CallOutcome = "complete" | "upstream-error" | "client-disconnect" | "upstream-cut" | "unfinished";

/** What a recorder inside the process knows of the agent that made a call, so that nothing has to be guessed. */
export interface AgentHint {
  id: string;
  name?: string;
  /** The tool call that activated it: its id, or where the framework hides that, its name and arguments. */
  parent?: { agentId: string; callId?: string; name?: string; arguments?: string };
  handoffFrom?: string;
}

export interface RecordedCall {
  id: string;
  /** Which recorder saw it, where one did. */
  recorder?: "proxy" | "preload";
  /** Given by path, header, trace or context; without it, runs are distinguished by content. */
  runId?: string;
  /** The outermost call of a framework that it was made in, known by a recorder inside the process: no run spans less. */
  scope?: string;
  /** No model call: what the framework's outermost call gave back in the end. */
  given?: true;
  agent?: AgentHint;
  /** The call whose reply the calling code had seen last, where a recorder inside the process followed it. */
  after?: string;
  /** Further calls whose replies it had seen, where several flows came together. */
  joins?: string[];
  /** The incoming request that the program was serving, where a recorder inside the process saw it. */
  root?: string;
  startedAt: number;
  endedAt: number;
  model?: string;
  messages: Message[];
  tools: ToolDefinition[];
  text: string;
  reasoning?: string;
  toolCalls: ToolCall[];
  promptTokens: number;
  completionTokens: number;
  cachedTokens?: number;
  reasoningTokens?: number;
  /** Why the model stopped; `length` means that the text is cut. */
  finish?: WireFinish;
  /** Tools that the server ran itself before it wrote the text. */
  hosted?: HostedCall[];
  /** The other replies, where several were asked for and it is not known which of them was used. */
  others?: WireReply["others"];
  sampled?: TeamStep["sampled"];
  settings?: Record<string, unknown>;
  /** What the bodies held and messages can't. */
  lost?: Loss[];
  responseId?: string;
  /** The server kept the history; it is in the call with this response id. */
  previousResponseId?: string;
  /** The server keeps the history under this id. */
  conversation?: string;
  outcome: CallOutcome;
  error?: string;
  truncated?: boolean;
  notes?: string[];
  /** The calls that failed before it was sent again. */
  tries?: string[];
}

/** How the error of a call begins that the budget refused: it was never sent. */
export const budgetRefusal = "budget: ";

/** Whether a call was sent: what a budget refused costs nothing and is no call. */
export function isSent({ error }: { error?: string | undefined }): boolean {
  return !error?.startsWith(budgetRefusal);
}

/** Adds to the list under a key; copying lists to add one item would cost the square of their length. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
