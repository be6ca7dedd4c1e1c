/**
 * Items of the Responses API that a request only points at: the server keeps what it wrote, and clients send its id. The
 * recording has seen those items in earlier answers and puts them back; what it has not seen stays a pointer.
 */

import { eventsOf } from "../base/http/server-events.ts";
import { apiOf } from "../base/wire/apis.ts";
import { asArray, asObject, asString, type Json, objectsOf, parseJson } from "../core/json-value.ts";
import { joinBackground } from "./background.ts";
import type { WireExchange } from "./wire-exchange.ts";

/** The exchanges in the order of their start, with every known item in place of its pointer. */
export function resolveItems(exchanges: readonly WireExchange[]): WireExchange[] {
  const items = new Map<string, Json>();
  return joinBackground(exchanges)
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((exchange) => {
      if (apiOf(exchange.path)?.name !== "openai-responses") return exchange;
      const request = asObject(exchange.request) ?? {};
      const input = asArray(request["input"]);
      for (const item of objectsOf(input)) remember(items, item);
      for (const item of outputOf(exchange)) remember(items, item);
      const isPointer = (item: unknown) => asObject(item)?.["type"] === "item_reference";
      if (!input.some(isPointer)) return exchange;
      const resolved = input.map((item) =>
        isPointer(item) ? (items.get(String(asObject(item)?.["id"])) ?? item) : item,
      );
      return { ...exchange, request: { ...request, input: resolved } };
    });
}

function remember(items: Map<string, Json>, item: Json): void {
  const id = asString(item["id"]);
  if (id && item["type"] !== "item_reference") items.set(id, item);
}

/** The items of an answer, whole or streamed. */
export function outputOf({ response, contentType }: WireExchange): Json[] {
  if (!contentType.includes("event-stream")) return objectsOf(asObject(parseJson(response))?.["output"]);
  return eventsOf(response).flatMap((data) => {
    const event = asObject(parseJson(data));
    const done = asObject(event?.["item"]);
    return [
      ...(event?.["type"] === "response.output_item.done" && done ? [done] : []),
      ...objectsOf(asObject(event?.["response"])?.["output"]),
    ];
  });
}
