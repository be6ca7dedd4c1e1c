/** What a server answered, from whole JSON or from a stream of events; what ended too early is said to be unfinished. */
import { eventsOf } from "../base/http/server-events.ts";
import { noReply, type WireApi, type WireReply } from "../base/wire/wire-api.ts";
import { asObject, parseJson } from "../core/json-value.ts";

/** Whether a body is a stream of events, by its type or by its looks. */
function isStream(body: string, contentType: string): boolean {
  return contentType.includes("event-stream") || /^\s*(?:data|event|id|:)/.test(body.slice(0, 64));
}

/** The events of a streamed body, parsed; the word that ends some streams stays a word. */
export function answerEvents(body: string): unknown[] {
  return eventsOf(body).map((data) => (data.trim() === "[DONE]" ? "[DONE]" : parseJson(data)));
}

/** Reads the body of an answer. */
export function readAnswer(api: WireApi, body: string, contentType = ""): WireReply {
  if (isStream(body, contentType)) {
    const reader = api.replyReader();
    for (const event of answerEvents(body)) reader.add(event);
    return reader.reply;
  }
  const json = asObject(parseJson(body));
  return json ? api.readReply(json) : { ...noReply(), error: `not JSON: ${body.slice(0, 200)}` };
}

/** A reply as a streamed body. */
export function writeStream(api: WireApi, reply: WireReply): string {
  return api
    .writeEvents(reply)
    .map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    .join("");
}
