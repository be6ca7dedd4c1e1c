/**
 * The one HTTP client: connections are reused, what may work the next time is tried again, a server that falls silent is
 * given up on, and an error says what the server said. The HTTP library is loaded at the first request, because most
 * programs that import us never make one.
 */
import type { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { budgets, jsonExcess } from "../../core/budget.ts";
import { type Boundary, CoaError, isAbort, messageOf } from "../../core/errors.ts";
import { sleep } from "../work/limiter.ts";
import { type RetryOptions, retry, retryAfterMs, retryDelay } from "../work/retry.ts";

export interface HttpOptions extends RetryOptions {
  headers?: Record<string, string>;
  /** Silence after which a call is given up. */
  stallMs?: number;
  connectTimeoutMs?: number;
  connections?: number;
  /** What breaks when a call fails, for messages; a model server by default. @internal */
  boundary?: Boundary;
}

/** A server's answer, its body not yet read. */
export interface HttpAnswer {
  status: number;
  header(name: string): string | undefined;
  chunks: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
}

export interface SendOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** A deadline for the whole call, body included. */
  timeoutMs?: number;
}

const retryableStatus = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);

/** An error with the time after which the server wants the next try. */
export class HttpError extends CoaError {
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly body: string;

  constructor(
    message: string,
    options: {
      status?: number;
      retryAfterMs?: number;
      body?: string;
      retryable: boolean;
      cause?: unknown;
      boundary?: Boundary;
      code?: string;
    },
  ) {
    super(options.boundary ?? "model", message, { ...options, code: options.code ?? codeOf(options.status) });
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.body = options.body ?? "";
  }
}

/** A word for statuses that their reader acts on. */
function codeOf(status: number | undefined): string | undefined {
  if (status === 401 || status === 403) return "unauthorised";
  if (status === 429) return "rate-limited";
  if (status === 503 || status === 529) return "overloaded";
  return status === 404 ? "not-found" : undefined;
}

/** Makes a client with its own connections; idle ones do not keep the process alive. An answer over `maxBytes` (64 MB) is refused. */
export function httpClient(options: HttpOptions & { maxBytes?: number } = {}) {
  const { stallMs = budgets.reply.ms, maxBytes = budgets.reply.bytes, boundary = "model" } = options;
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

  return {
    /** Waits before the next try: as long as the server asked, or a random, growing time. */
    pause: (tries: number, error: unknown, signal?: AbortSignal) => sleep(retryDelay(tries, error, options), signal),
    /** Runs `attempt` until it works, fails for good, or the tries are used up. */
    retry: <T>(attempt: (tries: number) => Promise<T>, signal?: AbortSignal) => retry(attempt, { ...options, signal }),
    /** One request, its body as JSON or as the bytes given; statuses from 400 on are errors. No repeats. */
    async send(
      method: "GET" | "POST" | "DELETE",
      url: string,
      body: unknown,
      { headers, signal, timeoutMs }: SendOptions,
    ): Promise<HttpAnswer> {
      const { agent, request } = await dispatcher();
      const what = `${method} ${url.split("?")[0]}`; // a query may hold a key
      const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
      const either = signal && late ? AbortSignal.any([signal, late]) : (signal ?? late);
      const broken = (error: unknown): Error => {
        if (signal?.aborted) return signal.reason as Error;
        if (late?.aborted) {
          return new HttpError(`${what}: no answer within ${timeoutMs} ms`, { retryable: true, boundary });
        }
        return connectionError(what, error, boundary);
      };
      let answer: Dispatcher.ResponseData;
      try {
        answer = await request(url, {
          method,
          dispatcher: agent,
          signal: either,
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...options.headers,
            ...headers,
          },
          body: body === undefined ? undefined : body instanceof Uint8Array ? body : JSON.stringify(body),
        });
      } catch (error) {
        throw broken(error);
      }
      const header = (name: string) => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      if (answer.statusCode >= 400) {
        const said = await firstText(answer.body).catch(() => "");
        throw new HttpError(`${what}: HTTP ${answer.statusCode}: ${errorText(said)}`, {
          status: answer.statusCode,
          retryAfterMs: retryAfterMs(header),
          body: said,
          retryable: retryableStatus.has(answer.statusCode),
          boundary,
        });
      }
      const tooMuch = (excess: string) =>
        new HttpError(`${what}: the answer ${excess}`, { retryable: false, boundary });
      const chunks = bounded(answer.body, maxBytes, (error) =>
        error === undefined ? tooMuch(`has more than ${maxBytes} bytes`) : broken(error),
      );
      const bytes = async () => Buffer.concat(await Array.fromAsync(chunks));
      return {
        status: answer.statusCode,
        header,
        async text() {
          const text = (await bytes()).toString("utf8").replace(/^\uFEFF/, "");
          const excess = jsonExcess(text, budgets.reply);
          if (excess) throw tooMuch(excess);
          return text;
        },
        bytes,
        chunks,
      };
    },
    async close(): Promise<void> {
      await agent?.destroy();
      agent = undefined;
    },
  };
}

/** Chunks that may wait for their reader; then the server waits too. */
const heldChunks = 16;

/**
 * The chunks of an answer up to a limit; `label` makes an error of what broke, and of nothing where it is too long. Written
 * without async functions, because it runs for every token.
 */
function bounded(body: Readable, maxBytes: number, label: (error?: unknown) => Error): AsyncIterable<Uint8Array> {
  const held: Uint8Array[] = [];
  let left = maxBytes;
  let over: { error?: unknown } | undefined;
  let waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  function next(): Promise<IteratorResult<Uint8Array>> {
    waiting = Promise.withResolvers();
    const { promise } = waiting;
    give();
    return promise;
  }
  function give(): void {
    if (!waiting || (held.length === 0 && !over)) return;
    const { resolve, reject } = waiting;
    waiting = undefined;
    if (held.length > 0) resolve({ done: false, value: held.shift()! });
    else if (over?.error === undefined) resolve({ done: true, value: undefined });
    else reject(over.error);
    if (held.length === 0) body.resume();
  }
  const end = (error?: unknown) => {
    over ??= { error };
    give();
  };
  body.on("data", (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) {
      end(label());
      return void body.destroy();
    }
    if (held.push(chunk) >= heldChunks) body.pause();
    give();
  });
  body.once("error", (error) => end(label(error))).once("close", () => end());
  const close = async () => {
    end();
    body.destroy();
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** What an answer begins with: enough of an error to be told. */
async function firstText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let kept = Buffer.alloc(0);
  for await (const chunk of chunks) if ((kept = Buffer.concat([kept, chunk])).length >= 2 ** 16) break;
  return kept.toString("utf8", 0, 2 ** 16);
}

function connectionError(what: string, error: unknown, boundary: Boundary): Error {
  if (isAbort(error)) return error as Error;
  const code = (error as { code?: string }).code;
  const detail = messageOf(error) || code || "connection failed";
  const hint = code === "ECONNREFUSED" ? " (is the server running?)" : "";
  return new HttpError(`${what}: ${detail}${hint}`, {
    retryable: code !== "ENOTFOUND",
    cause: error,
    boundary,
    code: code === "ENOTFOUND" || code === "ECONNREFUSED" ? "unreachable" : undefined,
  });
}

/** What an error body says: the message inside JSON, or its first characters. */
function errorText(body: string): string {
  try {
    const parsed = JSON.parse(body) as { error?: { message?: string } | string; message?: string; detail?: unknown };
    const said = typeof parsed.error === "string" ? parsed.error : (parsed.error?.message ?? parsed.message);
    const message = said ?? (typeof parsed.detail === "string" ? parsed.detail : undefined);
    if (message) return message;
  } catch {
    // Not JSON: the text itself is used.
  }
  return body.trim().slice(0, 300) || "(empty body)";
}
