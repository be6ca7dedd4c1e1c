/**
 * What one model API says over HTTP, in both directions, in terms of our own messages. Clients, servers and the
 * recorder use the same reader and writer, so that no two parts of the program can disagree about what a body means. Each API is one `WireApi` value; `apis.ts` lists them and finds the one of a path.
 */

import type { Json } from "../../core/json-value.ts";
import type { Message, ToolCall } from "../../core/message.ts";
import type { CallUsage } from "../../core/model.ts";
import type { ReplyFacts, ReplyWriter } from "./reply-writer.ts";

/** A tool as it was offered to the model. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters?: unknown;
}

/**
 * Something that a body holds and our messages can't: images or sound, a tool run by the server, a history kept there,
 * a prompt that is not one text.
 */
export type Loss = "media" | "hosted-tool" | "server-history" | "prompt";

export interface WireRequest {
  model?: string;
  messages: Message[];
  tools: ToolDefinition[];
  stream?: boolean;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  seed?: number;
  stop?: readonly string[];
  /** The form asked for: `{type: "json_object"}`, or a schema, as this API writes it. */
  responseFormat?: unknown;
  /** How many replies are asked for, where it is not one. */
  samples?: number;
  /** The server kept the history; it is in the call with this response id. */
  previousResponseId?: string;
  /** The server keeps the history under this id. */
  conversation?: string;
  /** Which tool the model must call, as this API writes it. */
  toolChoice?: unknown;
  lost?: Loss[];
}

/** A tool that the server itself ran while it answered, with what came out where the server says so. */
export interface HostedCall extends ToolCall {
  result?: string;
  failed?: boolean;
}

/** How a reply ended: by itself, at the token limit, to have tools called, or because the model refused. */
export type WireFinish = "stop" | "length" | "tool_calls" | "refusal" | "other";

export interface WireReply {
  text: string;
  reasoning?: string;
  toolCalls: ToolCall[];
  /** Calls that the server made before it wrote the text. */
  hosted?: HostedCall[];
  finish?: WireFinish;
  /** The stop string at which the text was cut. */
  stop?: string;
  /** The server said that it was done. */
  finished: boolean;
  /** The server works on it in the background; the answer is fetched later under its id. */
  pending?: boolean;
  usage?: Partial<CallUsage>;
  responseId?: string;
  model?: string;
  /** The other replies to the same request, where several were asked for. */
  others?: Pick<WireReply, "text" | "reasoning" | "toolCalls" | "finish">[];
  lost?: Loss[];
  error?: string;
}

export interface WireApi {
  readonly name: string;
  /** Whether a path (without its query) is a model call of this API. */
  matches(path: string): boolean;
  /** Whether a body fits too, for APIs whose paths others may also have. */
  accepts?(body: Json): boolean;
  readRequest(body: Json, path: string): WireRequest;
  readReply(body: Json): WireReply;
  /** A streamed reply, as far as it came; its events are parsed JSON, or the word that ends the stream. */
  readEvents(events: readonly unknown[]): WireReply;
  /** A writer of one reply; `writeReply` and `writeEvents` write one that is there as a whole. */
  replyWriter(facts: ReplyFacts): ReplyWriter;
  /** How a stream travels: server-sent events (with or without names), or a JSON value to a line. */
  readonly framing: "sse" | "named-sse" | "ndjson";
  /** Found in the text of the event with which a stream ends. */
  readonly lastEvent: RegExp;
  limitReply(body: Json, maxTokens: number): Json;
  /** The request changed so that a streamed reply tells its usage, where the API leaves that to the client. */
  askUsage?(body: Json): Json;
}

/** One event of a stream as it travels. */
export function frameEvent({ framing }: WireApi, event: unknown): string {
  const text = typeof event === "string" ? event : JSON.stringify(event);
  if (framing === "ndjson") return `${text}\n`;
  const type = (event as { type?: unknown }).type;
  return `${framing === "named-sse" && typeof type === "string" ? `event: ${type}\n` : ""}data: ${text}\n\n`;
}

/** A reply of which nothing has come yet. */
export function noReply(): WireReply {
  return { text: "", toolCalls: [], finished: false };
}

/** Adds a loss once. */
export function lose(target: { lost?: Loss[] }, loss: Loss): void {
  if (!target.lost?.includes(loss)) target.lost = [...(target.lost ?? []), loss];
}

/** What an error body says, in one line. */
export function errorText(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message;
  const text = typeof message === "string" ? message : typeof error === "string" ? error : JSON.stringify(error);
  return (text ?? "").slice(0, 2000);
}
