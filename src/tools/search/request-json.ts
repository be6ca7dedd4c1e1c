/**
 * One JSON request to a search service, with what such services need: a rate limit, a pool of keys, back-off with jitter
 * that honours Retry-After, and errors that say which service said what.
 */
import { setTimeout as pause } from "node:timers/promises";
import { CoaError, isAbort, messageOf } from "../../core/errors.ts";
import type { KeyPool } from "./key-pool.ts";

export interface ServiceRequest {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: unknown;
}

export interface RequestJsonOptions {
  /** The service's name, for messages. */
  service: string;
  /** Builds the request for a key (empty where the service needs none). */
  request: (key: string) => ServiceRequest;
  keys?: KeyPool;
  limiter?: (signal: AbortSignal) => Promise<void>;
  /** Tries after the first. */
  retries?: number;
  timeoutMs?: number;
  /** First wait; doubled each time, up to 30 s. */
  backOffMs?: number;
  random?: () => number;
  signal: AbortSignal;
}

/** Sends the request until it succeeds, can't succeed, or the tries are used up; gives the parsed JSON. */
export async function requestJson(options: RequestJsonOptions): Promise<unknown> {
  const { service, keys, retries = 4, timeoutMs = 60_000, backOffMs = 500, random = Math.random, signal } = options;
  let problem = "";
  // A refused key does not use up a try: the next one may be good.
  for (let attempt = 0; attempt <= retries; ) {
    const key = keys ? keys.next() : "";
    if (key === undefined) throw new CoaError("tool", `${service}: every API key was refused (${problem})`);
    await options.limiter?.(signal);
    const { url, method = "GET", headers, body } = options.request(key);
    let wait = Math.min(30_000, backOffMs * 2 ** attempt) * (0.5 + random());
    try {
      const response = await fetch(url, {
        method,
        headers: { accept: "application/json", ...(body ? { "content-type": "application/json" } : {}), ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await response.text();
      if (response.ok) return parse(service, text);
      problem = `HTTP ${response.status}: ${text.slice(0, 300)}`;
      if ((response.status === 401 || response.status === 402 || response.status === 403) && keys) {
        keys.refuse(key);
        continue;
      }
      if (response.status !== 429 && response.status !== 408 && response.status < 500)
        throw new CoaError("tool", `${service} refused the request: ${problem}`);
      const asked = retryAfterMs(response.headers.get("retry-after"));
      if (asked !== undefined) wait = Math.min(60_000, asked);
      // With another key there is no need to wait for this one.
      if (response.status === 429 && keys && keys.size > 1) {
        keys.rest(key, asked ?? 60_000);
        wait = Math.min(wait, backOffMs);
      }
    } catch (error) {
      if (error instanceof CoaError || signal.aborted || isAbort(error)) throw error;
      problem = messageOf((error as { cause?: unknown }).cause ?? error);
    }
    if (++attempt <= retries) await pause(wait, undefined, { signal });
  }
  throw new CoaError("tool", `${service} did not answer after ${retries + 1} tries (${problem})`, { retryable: true });
}

function parse(service: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CoaError("tool", `${service} answered with something that is not JSON: ${text.slice(0, 200)}`, {
      cause: error,
    });
  }
}

function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
