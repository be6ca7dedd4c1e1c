/**
 * Writing a reply of any API, the counterpart of its reader: the reply comes in parts, each part makes the events of a
 * stream, and the whole reply is what the parts add up to. So a streamed reply and a whole one can't differ.
 */
import type { Json } from "../../core/json-value.ts";
import type { ToolCall } from "../../core/message.ts";
import type { HostedCall, WireApi, WireReply } from "./wire-api.ts";

/** One thing that a reply says, in the order in which it says it. */
export type ReplyPart =
  /** A piece of what the model thinks; `begins` opens a section, where the API has sections. */
  | { type: "reasoning"; text: string; begins?: boolean }
  /** A piece of the text, with its tokens where the client asked for them. */
  | { type: "text"; text: string; tokens?: ReplyTokens }
  | { type: "hosted"; call: HostedCall }
  /** A tool for the client to run. */
  | { type: "call"; call: ToolCall }
  /** What the client keeps unread and sends back with the results of the calls that follow. */
  | { type: "state"; state: string };

/** The tokens of a piece of text; ids and log-probabilities as far as they are to be shown. */
export interface ReplyTokens {
  ids?: readonly number[];
  logprobs?: { texts: readonly string[]; values: readonly number[] };
  /** Ids of the prompt, beside the first piece. */
  promptIds?: readonly number[];
}

/** What is known of a reply before its first part. */
export interface ReplyFacts extends Pick<WireReply, "responseId" | "model"> {
  /** Seconds since 1970. */
  created?: number;
  /** Stands beside the reasoning where the API has a place for it: a signature, or encrypted content. */
  sealed?: string;
  /** The request, of which the Responses API repeats what was set. */
  request?: Json;
  /** False: a stream tells no usage, since its client did not ask for it. */
  streamUsage?: boolean;
}

export type ReplyEnd = Pick<WireReply, "finish" | "usage" | "stop">;

export interface ReplyWriter {
  /** The events with which a stream begins. */
  begin(): unknown[];
  add(part: ReplyPart): unknown[];
  /** The events with which a stream ends. */
  end(end: ReplyEnd): unknown[];
  whole(): Json;
}

/** How an API writes a reply whose parts have no places of their own in it. */
export interface FlatReply {
  /** With which its stream begins, at the first part. */
  first?: unknown[];
  added(added: WireReply, reply: WireReply, part: ReplyPart): unknown[];
  end(reply: WireReply): unknown[];
  whole(reply: WireReply): Json;
}

export function flatWriter(facts: ReplyFacts, api: FlatReply): ReplyWriter {
  const reply: WireReply = { ...facts, text: "", toolCalls: [], finished: false };
  let first = api.first ?? [];
  const begun = (events: unknown[]) => {
    const before = first;
    first = [];
    return before.length > 0 ? [...before, ...events] : events;
  };
  return {
    begin: () => [],
    add(part) {
      const added: WireReply = { text: "", toolCalls: [], finished: false };
      for (const to of [reply, added]) collect(to, part);
      return begun(api.added(added, reply, part));
    },
    end(end) {
      Object.assign(reply, end, { finished: true });
      return begun(api.end(reply));
    },
    whole: () => api.whole(reply),
  };
}

function collect(reply: WireReply, part: ReplyPart): void {
  if (part.type === "reasoning") reply.reasoning = (reply.reasoning ?? "") + part.text;
  else if (part.type === "text") reply.text += part.text;
  else if (part.type === "hosted") reply.hosted = [...(reply.hosted ?? []), part.call];
  else if (part.type === "call") reply.toolCalls.push(part.call);
}

/** The events of a reply that is there as a whole, its text in pieces. */
export function writeEvents(api: WireApi, reply: WireReply, pieces?: readonly string[]): unknown[] {
  const writer = api.replyWriter(reply);
  const events = [...writer.begin(), ...partsOf(reply, pieces).flatMap((part) => writer.add(part))];
  return reply.finished ? [...events, ...writer.end(reply)] : events;
}

/** A reply as the API sends it whole. */
export function writeReply(api: WireApi, reply: WireReply): Json {
  const writer = api.replyWriter(reply);
  for (const part of partsOf(reply)) writer.add(part);
  if (reply.finished) writer.end(reply);
  return writer.whole();
}

function partsOf(reply: WireReply, pieces: readonly string[] = [reply.text]): ReplyPart[] {
  const { reasoning, hosted = [], toolCalls } = reply;
  return [
    ...(reasoning ? [{ type: "reasoning" as const, text: reasoning }] : []),
    ...hosted.map((call) => ({ type: "hosted" as const, call })),
    ...pieces.filter((text) => text !== "").map((text) => ({ type: "text" as const, text })),
    ...toolCalls.map((call) => ({ type: "call" as const, call })),
  ];
}
