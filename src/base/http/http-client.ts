/**
 * HTTP as model servers need it: connections are reused, what may work the next time is tried again with growing, random
 * pauses (or when the server says), a server that falls silent is given up on, and an error says what the server said.
 * The HTTP library is loaded at the first request, because most programs that import us never make one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent, Dispatcher } from "undici";
import { CoaError, isAbort, messageOf } from "../../core/errors.ts";

export interface HttpOptions {
  headers?: Record<string, string>;
  /** Tries after the first. */
  retries?: number;
  /** Pause before the first repeat; doubled each time, with jitter. */
  retryDelayMs?: number;
  maxRetryDelayMs?: number;
  /** Silence after which a call is given up. */
  stallMs?: number;
  connectTimeoutMs?: number;
  /** Connections to one server. */
  connections?: number;
  /** 0 to 1; for tests. */
  random?: () => number;
}

/** A server's answer, its body not yet read. */
export interface HttpAnswer {
  status: number;
  header(name: string): string | undefined;
  chunks: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
}

export interface HttpClient {
  /** One request; statuses from 400 on are errors. No repeats. */
  send(
    method: "GET" | "POST",
    url: string,
    body: unknown,
    options: { headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<HttpAnswer>;
  /** Waits before the next try: as long as the server asked, or a random, growing time. */
  pause(tries: number, error: unknown, signal?: AbortSignal): Promise<void>;
  /** Runs `attempt` until it works, fails for good, or the tries are used up. */
  retry<T>(attempt: (tries: number) => Promise<T>, signal?: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

const retryableStatus = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);

/** An error with the server's wish about when to come back. */
export class HttpError extends CoaError {
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { status?: number; retryAfterMs?: number; retryable: boolean; cause?: unknown },
  ) {
    super("model", message, options);
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Makes a client with its own connections. */
export function httpClient(options: HttpOptions = {}): HttpClient {
  const {
    retries = 5,
    retryDelayMs = 500,
    maxRetryDelayMs = 30_000,
    stallMs = 120_000,
    random = Math.random,
  } = options;
  let agent: Agent | undefined;

  async function dispatcher(): Promise<{ agent: Agent; request: typeof import("undici").request }> {
    const undici = await import("undici");
    agent ??= new undici.Agent({
      connections: options.connections ?? 128,
      connectTimeout: options.connectTimeoutMs ?? 15_000,
      headersTimeout: stallMs,
      bodyTimeout: stallMs,
      keepAliveTimeout: 30_000,
    });
    return { agent, request: undici.request };
  }

  async function pause(tries: number, error: unknown, signal?: AbortSignal): Promise<void> {
    // Full jitter: a thousand clients that failed together do not come back together.
    const jitter = Math.min(maxRetryDelayMs, retryDelayMs * 2 ** tries) * random();
    const asked = error instanceof HttpError ? error.retryAfterMs : undefined;
    await sleep(asked === undefined ? jitter : Math.min(asked, 120_000) + jitter * 0.1, undefined, { signal });
  }

  return {
    pause,
    async send(method, url, body, { headers, signal }) {
      const { agent, request } = await dispatcher();
      let answer: Dispatcher.ResponseData;
      try {
        answer = await request(url, {
          method,
          dispatcher: agent,
          signal,
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...options.headers,
            ...headers,
          },
          body: body === undefined ? undefined : JSON.stringify(body),
        });
      } catch (error) {
        throw connectionError(method, url, error, signal);
      }
      const header = (name: string) => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      if (answer.statusCode >= 400) {
        const said = await answer.body.text().catch(() => "");
        throw new HttpError(`${method} ${url}: HTTP ${answer.statusCode}: ${errorText(said)}`, {
          status: answer.statusCode,
          retryAfterMs: retryAfter(header("retry-after-ms"), header("retry-after")),
          retryable: retryableStatus.has(answer.statusCode),
        });
      }
      return {
        status: answer.statusCode,
        header,
        text: () => answer.body.text().catch((error) => Promise.reject(connectionError(method, url, error, signal))),
        chunks: guarded(answer.body, (error) => connectionError(method, url, error, signal)),
      };
    },
    async retry(attempt, signal) {
      for (let tries = 0; ; tries++) {
        try {
          return await attempt(tries);
        } catch (error) {
          if (!(error instanceof CoaError) || !error.retryable || tries >= retries) throw error;
          await pause(tries, error, signal);
        }
      }
    },
    async close() {
      await agent?.destroy();
      agent = undefined;
    },
  };
}

async function* guarded(
  chunks: AsyncIterable<Uint8Array>,
  label: (error: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw label(error);
  }
}

function connectionError(method: string, url: string, error: unknown, signal: AbortSignal | undefined): Error {
  if (signal?.aborted || isAbort(error)) return (signal?.reason as Error) ?? (error as Error);
  const code = (error as { code?: string }).code;
  const detail = messageOf(error) || code || "connection failed";
  const hint = code === "ECONNREFUSED" ? " (is the server running?)" : "";
  return new HttpError(`${method} ${url}: ${detail}${hint}`, { retryable: code !== "ENOTFOUND", cause: error });
}

/** What an error body says: the message inside JSON, or its first characters. */
function errorText(body: string): string {
  try {
    const parsed = JSON.parse(body) as { error?: { message?: string } | string; message?: string; detail?: unknown };
    const message = typeof parsed.error === "string" ? parsed.error : (parsed.error?.message ?? parsed.message);
    if (message) return message;
  } catch {
    // Not JSON: the text itself has to do.
  }
  return body.trim().slice(0, 300) || "(empty body)";
}

/** Seconds, milliseconds or a date, as servers write it. */
function retryAfter(milliseconds: string | undefined, seconds: string | undefined): number | undefined {
  if (milliseconds !== undefined && Number(milliseconds) >= 0) return Number(milliseconds);
  if (seconds === undefined) return undefined;
  if (Number(seconds) >= 0) return Number(seconds) * 1000;
  const date = Date.parse(seconds);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
