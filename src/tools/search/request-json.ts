/**
 * One JSON request to a search service, with what such services need: a rate limit, a pool of keys, back-off with jitter
 * that honours Retry-After, and errors that say which service said what.
 */
import { HttpError, httpClient } from "../../base/http/http-client.ts";
import { sleep } from "../../base/work/limiter.ts";
import { retryDelay } from "../../base/work/retry.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { CoaError } from "../../core/errors.ts";

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

const http = httpClient({ boundary: "tool" });

/** Sends the request until it succeeds, can't succeed, or the tries are used up; gives the parsed JSON. */
export async function requestJson(options: RequestJsonOptions): Promise<unknown> {
  const { service, keys, retries = 4, timeoutMs = 60_000, backOffMs = 500, signal } = options;
  let problem = "";
  // A refused key does not use up a try: the next one may be good.
  for (let attempt = 0; attempt <= retries; ) {
    const key = keys ? keys.next() : "";
    if (key === undefined) throw new CoaError("tool", `${service}: every API key was refused (${problem})`);
    await options.limiter?.(signal);
    const { url, method = "GET", headers, body } = options.request(key);
    let wait: number;
    try {
      const answer = await http.send(method, url, body, {
        headers: { accept: "application/json", ...headers },
        signal,
        timeoutMs,
      });
      return parse(service, await answer.text());
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      problem = error.message;
      if ((error.status === 401 || error.status === 402 || error.status === 403) && keys) {
        keys.refuse(key);
        continue;
      }
      if (!error.retryable) throw new CoaError("tool", `${service} refused the request: ${problem}`, { cause: error });
      wait = retryDelay(attempt, error, { retryDelayMs: backOffMs, random: options.random });
      // Where there is another key, this one is not waited for.
      if (error.status === 429 && keys && keys.size > 1) {
        keys.rest(key, error.retryAfterMs ?? 60_000);
        wait = Math.min(wait, backOffMs);
      }
    }
    if (++attempt <= retries) await sleep(wait, signal);
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

/**
 * Several API keys used in turn. A key that has reached its rate limit pauses; one that was refused is not used again,
 * so a long run continues without a spent or revoked key.
 */
export function keyPool(keys: string | readonly string[], now: () => number = steadyNow) {
  const list = [...new Set((typeof keys === "string" ? keys.split(/[|,\s]+/) : keys).filter((key) => key !== ""))];
  const restingUntil = new Map<string, number>();
  const refused = new Set<string>();
  let turn = 0;
  return {
    size: list.length,
    /** The next usable key; undefined when all are refused. A pausing key is given when all are pausing. */
    next() {
      const usable = list.filter((key) => !refused.has(key));
      if (usable.length === 0) return undefined;
      const time = now();
      for (let i = 0; i < usable.length; i++) {
        const key = usable[(turn + i) % usable.length]!;
        if ((restingUntil.get(key) ?? 0) > time) continue;
        turn = (turn + i + 1) % usable.length;
        return key;
      }
      return usable.reduce((a, b) => ((restingUntil.get(a) ?? 0) <= (restingUntil.get(b) ?? 0) ? a : b));
    },
    rest: (key: string, forMs: number) => void restingUntil.set(key, now() + forMs),
    refuse: (key: string) => void refused.add(key),
  };
}

export type KeyPool = ReturnType<typeof keyPool>;
