/**
 * One model call as the wire saw it: what was asked, what came back, how it ended. The proxy and the preload produce
 * these; trace formats produce the same shape from spans. Everything later (threads, links, team runs) starts here.
 */
import type { Message, ToolCall } from "../core/message.ts";

/** A tool as it was offered to the model. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters?: unknown;
}

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
  door?: "proxy" | "preload";
  /** Given by path, header, trace or context; without it, runs are told apart by content. */
  runId?: string;
  agent?: AgentHint;
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
  responseId?: string;
  /** The server kept the history; it stands in the call with this response id. */
  previousResponseId?: string;
  outcome: CallOutcome;
  error?: string;
  truncated?: boolean;
  notes?: string[];
}

/** Objects and arrays with sorted keys, as text: equal values give equal texts whatever the order they were written in. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

/** Parses JSON, or gives back undefined; hostile text is an ordinary input here. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A plain object, or undefined for anything else. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** An array, or an empty one for anything else. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string, or undefined for anything else. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A finite number (numbers written as text count), or undefined. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const number = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** Adds to the list under a key; copying lists to add one item would cost the square of their length. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Text as it is, anything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}
