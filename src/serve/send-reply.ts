/** The end of every endpoint that answers with a reply: sent whole, or as a stream of the events that it is made of. */
import { type EventStream, streamReply } from "../base/http/event-stream.ts";
import type { ReplyWriter } from "../base/wire/reply-writer.ts";
import { asObject, asString } from "../core/json-value.ts";
import type { Call } from "./endpoint.ts";
import type { Caller } from "./keys.ts";
import { replyEnd, type replyParts } from "./project/reply-parts.ts";
import type { ServedEvent } from "./served-events.ts";
import { settle } from "./settle.ts";

export interface SentReply {
  stream: boolean;
  /** The reply, once its events are over. */
  whole(): unknown;
  /** Events travel under the name of their type. */
  named?: boolean;
  /** Text that keeps the connection open. */
  ping?: string;
}

/** Sends a reply: its events, or what it is once they are over. */
export async function sendReply(
  call: Call,
  events: AsyncIterable<unknown>,
  { stream, whole, named, ping }: SentReply,
): Promise<unknown> {
  if (stream) {
    const errorName = named ? "error" : undefined;
    return streamReply(call, { ping, errorName }, (opened) => sendEvents(opened, events, named));
  }
  for await (const _ of events);
  return whole();
}

/** Writes events as they come; a slow reader slows them. */
export async function sendEvents(stream: EventStream, events: AsyncIterable<unknown>, named = false): Promise<void> {
  for await (const event of events) {
    const text = typeof event === "string" ? event : JSON.stringify(event);
    const full = stream.write(text, named ? asString(asObject(event)?.["type"]) : undefined);
    if (full) await full;
  }
}

export interface ReplyOfChain {
  writer: ReplyWriter;
  parts: ReturnType<typeof replyParts>;
  caller: Caller;
  /** Called before the last events are sent. */
  save?(): Promise<void>;
}

/** The events of a reply that a chain makes; what it used is counted for its caller. */
export async function* replyEvents(chain: AsyncIterable<ServedEvent>, reply: ReplyOfChain): AsyncGenerator<unknown> {
  const { writer, parts, caller } = reply;
  for (const event of writer.begin()) yield event; // `yield*` costs three promises for each
  for await (const served of chain) {
    if (served.type !== "end") {
      for (const part of parts(served)) for (const event of writer.add(part)) yield event;
      continue;
    }
    await settle(served, caller);
    const last = writer.end(replyEnd(served));
    await reply.save?.();
    for (const event of last) yield event;
  }
}
