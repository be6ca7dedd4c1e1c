/**
 * Talking to a Tinker server (hosted, SkyRL, or our own): every operation is submitted, answered with the number of a
 * future, and its result fetched by that number. The rules of repeating are here and nowhere else: submission: broken
 * connections, 408, 429 and 5xx are repeated with the same body, which servers recognise by its seq_id (only a few times until the
 * server has answered once: its address may be wrong); waiting: a
 * time-out, 408 or `try_again` means ask again; 410 means submit the original again; an empty 400 is a proxy's and
 * asked again up to 3 times, a 400 with words is the operation's failure, as is 200 `{error, category}`; 402 (no
 * credit) pauses, reported once; 429 on sampling pauses all sampling and uses up no try; everything else is final.
 */
import { prettifyError, type z } from "zod";
import { HttpError, httpClient } from "../../base/http/http-client.ts";
import { protobufType } from "../../base/wire/tinker-protobuf.ts";
import { sleep as sleepFor } from "../../base/work/limiter.ts";
import { retryDelay } from "../../base/work/retry.ts";
import type { Example } from "../../core/engine.ts";
import { CoaError, messageOf } from "../../core/errors.ts";

export interface TinkerClientOptions {
  /** Of the server, without `/api/v1`. */
  baseURL: string;
  /** Sent as X-API-Key; TINKER_API_KEY by default. */
  apiKey?: string;
  attempts?: number;
  /** How long one question for a result may take before it is asked again. */
  retrieveTimeoutMs?: number;
  /** After how long a person is told what is waited for; 30 s by default. */
  slowMs?: number;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Called about queues, missing credit, and other things a person should know. */
  onNote?: (text: string) => void;
}

/** A JSON object, or bytes of protobuf. */
export type TinkerBody = Record<string, unknown> | Uint8Array;
export type Json = Record<string, unknown>;

/** A result: JSON, or protobuf where the server answers so. */
export type TinkerResult = { json: Json; bytes?: undefined } | { bytes: Uint8Array; json?: undefined };

export type TinkerClient = ReturnType<typeof tinkerClient>;

export interface SubmitOptions {
  signal?: AbortSignal;
  protobuf?: boolean;
  /** Sampling: the server's back-pressure applies to all requests of this kind. */
  sampling?: boolean;
}

export interface TinkerFuture {
  readonly id: string;
  result(): Promise<TinkerResult>;
}

const firstTries = 4;
const creditPauseMs = 5_000;
const maxCreditMs = 3_600_000;
const largePrompt = 128 * 1024;

export function tinkerClient(options: TinkerClientOptions) {
  const { attempts = 10, retrieveTimeoutMs = 45_000, slowMs = 30_000, sleep = sleepFor, onNote = () => {} } = options;
  if (!/^https?:$/.test(URL.parse(options.baseURL)?.protocol ?? ""))
    throw new CoaError("usage", `"${options.baseURL}" is not the address of a server, such as http://127.0.0.1:8000`);
  const root = `${options.baseURL.replace(/\/+$/, "")}/api/v1/`;
  const apiKey = options.apiKey ?? process.env["TINKER_API_KEY"];
  const limits = {
    boundary: "engine",
    maxBytes: 2 ** 32, // weights are fetched whole
    stallMs: 330_000, // SkyRL holds a question for 300 s
    connections: 1024,
  } as const;
  const http = httpClient({ ...limits, ...(apiKey ? { headers: { "x-api-key": apiKey } } : {}) });
  let samplingPause: Promise<void> | null = null;
  let lastQueue = "active";
  /** The server has answered at least once; one that never did is more likely not there than busy. */
  let reached = false;
  let troubled = false;

  /** Waits before something is sent again; a person is told once, when it lasts. */
  async function backoff(attempt: number, error: unknown, signal?: AbortSignal): Promise<void> {
    if (attempt >= 2 && !troubled) {
      troubled = true;
      onNote(`${messageOf(error)}; trying again`);
    }
    await sleep(retryDelay(attempt, error), signal);
  }

  function answered(): void {
    reached = true;
    if (troubled) onNote("the server answers again");
    troubled = false;
  }

  /** Sends until the server takes it or refuses for good. */
  async function send(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body: TinkerBody | undefined,
    { signal, sampling }: SubmitOptions = {},
  ): Promise<Json> {
    let waitedForCredit = 0;
    for (let attempt = 0; ; attempt++) {
      if (sampling) await samplingPause;
      signal?.throwIfAborted();
      try {
        const answer = await http.send(method, root + path, body, { signal, headers: headersFor(body, sampling) });
        const said = await answer.text();
        answered();
        return said === "" ? {} : (JSON.parse(said) as Json);
      } catch (error) {
        const status = error instanceof HttpError ? error.status : undefined;
        if (status !== undefined) reached = true;
        if (status === 402 && waitedForCredit < maxCreditMs) {
          if (waitedForCredit === 0) onNote("the server says that the account has no credit left; waiting for it");
          waitedForCredit += creditPauseMs;
          attempt--;
          await sleep(creditPauseMs, signal);
        } else if (status === 429 && sampling) {
          attempt--;
          samplingPause ??= sleep(sizeOf(body) > largePrompt ? 5_000 : 1_000).finally(() => {
            samplingPause = null;
          });
        } else if (isPassing(error) && attempt + 1 < (reached ? attempts : Math.min(attempts, firstTries)))
          await backoff(attempt, error, signal);
        else throw error;
      }
    }
  }

  async function retrieve(id: string, again: () => Promise<string>, how: SubmitOptions): Promise<TinkerResult> {
    let emptyAnswers = 0;
    let failures = 0;
    let current = id;
    for (;;) {
      how.signal?.throwIfAborted();
      try {
        const answer = await http.send(
          "POST",
          `${root}retrieve_future`,
          { request_id: current },
          {
            signal: how.signal,
            timeoutMs: retrieveTimeoutMs,
            headers: how.protobuf ? { accept: protobufType } : {},
          },
        );
        answered();
        if (answer.header("content-type")?.startsWith(protobufType)) return { bytes: await answer.bytes() };
        const json = JSON.parse(await answer.text()) as Json;
        if (json["type"] === "try_again") noteQueue(json);
        else if (typeof json["error"] === "string") throw failed(json["error"], json["category"] === "server");
        else if (json["status"] === "pending") await sleep(50, how.signal);
        else if (json["status"] !== "complete_metadata") return { json };
        failures = 0;
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        const { status, body } = error;
        if (status === 408) noteQueue(parsed(body));
        else if (status === undefined && /no answer within/.test(error.message)) continue;
        else if (status === 410) current = await again();
        else if (status === 400 && body.trim() === "" && ++emptyAnswers <= 3)
          await backoff(emptyAnswers, error, how.signal);
        else if (status === 400) throw failed(detailOf(body), false);
        else if (isPassing(error) && failures < attempts * 3) await backoff(Math.min(failures++, 6), error, how.signal);
        else throw error;
      }
    }
  }

  const slowPaths = new Set<string>();
  /** A person who waits for minutes is told for what, once for each kind of request. */
  function noteSlow(path: string): void {
    if (!slowPaths.has(path)) onNote(`waiting for ${path}, more than ${slowMs / 1000} s so far (a server on jax compiles for every new length)`); // biome-ignore format: one note
    slowPaths.add(path);
  }

  function noteQueue(json: Json): void {
    const state = json["queue_state"];
    if (typeof state !== "string" || state === lastQueue) return;
    lastQueue = state;
    onNote(state === "active" ? "the server works on our requests again" : `the server's queue: ${state}`);
  }

  return {
    /** Asks something that is answered at once. */
    ask: (method: "GET" | "POST" | "DELETE", path: string, body?: TinkerBody, signal?: AbortSignal): Promise<Json> =>
      send(method, path, body, { signal }),
    /** Submits an operation; resolves with a way to its result once the server has it. */
    async submit(path: string, body: TinkerBody, how: SubmitOptions = {}): Promise<TinkerFuture> {
      const submitted = async () => String((await send("POST", path, body, how))["request_id"]);
      const id = await submitted();
      const result = async () => {
        const slow = setTimeout(() => noteSlow(path), slowMs).unref();
        return retrieve(id, submitted, how).finally(() => clearTimeout(slow));
      };
      return { id, result };
    },
    /** A file by address, following one redirect. */
    async download(path: string, signal?: AbortSignal): Promise<Uint8Array> {
      const first = await http.send("GET", root + path, undefined, { signal });
      const location = first.status >= 300 ? first.header("location") : undefined;
      if (!location) return first.bytes();
      await first.bytes();
      const place = new URL(location, root);
      if (place.origin === new URL(root).origin)
        return (await http.send("GET", place.href, undefined, { signal })).bytes();
      const elsewhere = httpClient(limits); // which does not have our key
      return (await elsewhere.send("GET", place.href, undefined, { signal })).bytes().finally(elsewhere.close);
    },
    close: (): Promise<void> => http.close(),
  };
}

function headersFor(body: TinkerBody | undefined, sampling: boolean | undefined): Record<string, string> {
  return {
    ...(body instanceof Uint8Array ? { "content-type": protobufType } : {}),
    ...(sampling ? { "x-tinker-sampling-backpressure": "1" } : {}),
  };
}

/** Worth repeating: the connection broke, or the server says later. 409 is an answer here, not a passing state. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false;
  const { status } = error;
  return status === undefined ? error.retryable : status === 408 || status === 425 || status === 429 || status >= 500;
}

function failed(message: string, retryable: boolean): CoaError {
  return new CoaError("engine", `the server could not do it: ${message}`, { retryable });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

function detailOf(body: string): string {
  const { detail } = parsed(body);
  return typeof detail === "string" ? detail : messageOf(body);
}

function sizeOf(body: TinkerBody | undefined): number {
  return body instanceof Uint8Array ? body.length : JSON.stringify(body ?? "").length;
}

/** A server that was started again does not know the model any more; the run's own checkpoint does. */
export function asRestart(error: unknown): never {
  if (!/\b(?:model|session)\b.*\b(?:not loaded|not found|does not exist|unknown)\b/i.test(messageOf(error)))
    throw error;
  const said = messageOf(error);
  throw new CoaError(
    "engine",
    `the server does not have this run's model any more (${said}): was it started again? Run the same command again: it continues from its last checkpoint`,
    { cause: error },
  );
}

export function answerOf<Shape extends z.ZodType>(schema: Shape, json: unknown): z.output<Shape> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new CoaError("format", `the server's answer is not as agreed: ${prettifyError(parsed.error)}`);
}

export function jsonOf(result: TinkerResult): Record<string, unknown> {
  if (!result.json) throw new CoaError("format", "the server answered with bytes where JSON was expected");
  return result.json;
}

/** A row for each example, a number for each target: anything else would be taken for other tokens' log-probabilities. */
export function checkAnswer(examples: readonly Example[], logprobs: readonly Float32Array[]): void {
  const wrong = examples.findIndex(({ targets }, at) => logprobs[at]?.length !== targets.length);
  if (logprobs.length === examples.length && wrong === -1) return;
  const at = Math.max(wrong, 0);
  const said = `${logprobs[at]?.length ?? 0} log-probabilities for the ${examples[at]?.targets.length ?? 0} targets`;
  throw new CoaError("format", `the server's answer has ${said} of example ${at + 1} of ${examples.length}`);
}
