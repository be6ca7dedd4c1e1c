/** What a server answered, from whole JSON or from a stream of events; what ended too early is said to be unfinished. */
import { eventsOf } from "../base/http/server-events.ts";
import { writeEvents } from "../base/wire/reply-writer.ts";
import { frameEvent, noReply, type WireApi, type WireReply } from "../base/wire/wire-api.ts";
import { asArray, asObject, parseJson } from "../core/json-value.ts";

/** The parts of a streamed body, parsed; the word that ends some streams stays a word. Undefined for a whole answer. */
export function streamedParts(api: WireApi, body: string, contentType: string): unknown[] | undefined {
  if (contentType.includes("event-stream") || /^\s*(?:data|event|id|:)/.test(body.slice(0, 64))) {
    return eventsOf(body).map((data) => (data.trim() === "[DONE]" ? "[DONE]" : parseJson(data)));
  }
  if (api.framing === "ndjson" && (contentType.includes("ndjson") || /\}\s*\n\s*\{/.test(body))) {
    return body.split("\n").map(parseJson);
  }
  // Gemini without `alt=sse` streams one array.
  return /^\s*\[/.test(body) ? asArray(parseJson(body)) : undefined;
}

export function readAnswer(api: WireApi, body: string, contentType = ""): WireReply {
  const parts = streamedParts(api, body, contentType);
  if (parts) return api.readEvents(parts);
  const json = asObject(parseJson(body));
  return json ? api.readReply(json) : { ...noReply(), error: `not JSON: ${body.slice(0, 200)}` };
}

/** Whether a stream has ended; the sign of its end may also occur in the arguments of a call. */
export function isOver(api: WireApi, body: string, contentType: string): boolean {
  if (!api.lastEvent.test(body)) return false;
  const { finished, error } = readAnswer(api, body, contentType);
  return finished || error !== undefined;
}

export function writeStream(api: WireApi, reply: WireReply): string {
  return writeEvents(api, reply)
    .map((event) => frameEvent(api, event))
    .join("");
}
