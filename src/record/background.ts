/**
 * Responses that a server works on in the background: the request is answered at once with an id, and the client fetches
 * the answer later under it. The recorders keep that later answer, and here it takes the place of the first.
 */
import { apiOf } from "../base/wire/apis.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { readAnswer } from "./read-answer.ts";
import type { WireExchange } from "./wire-exchange.ts";

/** The id of the response that a request fetches; undefined for any other request. */
export function fetchedId(method: string | undefined, path: string): string | undefined {
  return method === "GET" ? /\/responses\/(resp[_-][\w-]+)(?:\?|$)/.exec(path)?.[1] : undefined;
}

/** Whether a fetched answer is the last that will come. */
export function isFinal(answer: string, contentType: string): boolean {
  const { finished, error } = readAnswer(openaiResponses, answer, contentType);
  return finished || error !== undefined;
}

/** Every answer that came later, in place of the one that said to wait; what fetched it is left out. */
export function joinBackground(exchanges: readonly WireExchange[]): WireExchange[] {
  const later = new Map<string, WireExchange>();
  for (const one of exchanges) {
    const id = fetchedId("GET", one.path);
    if (id !== undefined && one.status < 400) later.set(id, one);
  }
  if (later.size === 0) return [...exchanges];
  return exchanges.flatMap((one) => {
    if (fetchedId("GET", one.path) !== undefined) return [];
    if (apiOf(one.path)?.name !== "openai-responses") return one;
    const { finished, responseId = "" } = readAnswer(openaiResponses, one.response, one.contentType);
    const answer = finished ? undefined : later.get(responseId);
    if (!answer) return one;
    const { error: _error, ...rest } = one;
    const { status, outcome, contentType, response, endedAt } = answer;
    return { ...rest, status, outcome, contentType, response, endedAt };
  });
}
