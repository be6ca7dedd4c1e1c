/**
 * Wraps `fetch` so that every model call of a process is recorded: the request as it was sent, the answer as it came,
 * passed on piece by piece. The record is written before the last piece is handed over and without waiting, so neither
 * `process.exit()` nor a kill right after an answer loses it.
 */
import { randomUUID } from "node:crypto";
import { headerSecrets, type Redact, redactSecrets } from "../../base/redact/redact.ts";
import { apiOf } from "../../base/wire/apis.ts";
import { asObject, parseJson } from "../../core/json-value.ts";
import type { CallOutcome } from "../recorded-call.ts";
import { redactResponse } from "../redact-response.ts";
import { isRecorded, type WireExchange } from "../wire-exchange.ts";

export interface WrapOptions {
  fetch: typeof fetch;
  /** Writes a record at once. */
  write(exchange: WireExchange): void;
  /** The run and the agent of the code that calls, where known. */
  context(): Pick<WireExchange, "runId" | "agent"> | undefined;
  redact?: Redact;
  maxKeptBytes?: number;
  onProblem?: (error: unknown) => void;
}

const ended = /(?:^|\n)data: ?\[DONE\]|"type": ?"response\.(?:completed|failed|incomplete)"/;

/** A `fetch` that records calls to OpenAI-compatible servers and leaves everything else alone. */
export function wrapFetch(options: WrapOptions): typeof fetch {
  const original = options.fetch;
  return async function fetchAndRecord(input, init) {
    const url = input instanceof Request ? input.url : String(input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    const path = pathOf(url);
    if (method.toUpperCase() !== "POST" || path === undefined) return original(input, init);
    const body = await bodyText(input, init);
    const request = asObject(parseJson(body));
    if (!request) return original(input, init);
    const secrets = headerSecrets(new Headers(init?.headers ?? (input instanceof Request ? input.headers : {})));
    const startedAt = performance.timeOrigin + performance.now();
    const context = options.context() ?? {};
    let written = false;
    const write = (
      answer: { status: number; contentType: string; text: string; truncated?: boolean },
      outcome: CallOutcome,
      error?: string,
    ) => {
      if (written) return;
      written = true;
      try {
        options.write({
          version: 1,
          id: randomUUID(),
          recorder: "preload",
          ...context,
          path: String(redactSecrets(path, secrets)),
          startedAt,
          endedAt: performance.timeOrigin + performance.now(),
          status: answer.status,
          outcome,
          ...(error !== undefined && { error: String(redactSecrets(error, secrets)) }),
          request: redactSecrets(request, secrets, options.redact),
          contentType: answer.contentType,
          response: redactResponse(apiOf(path), answer.text, answer.contentType, secrets, options.redact),
          ...(answer.truncated && { truncated: true }),
        });
      } catch (problem) {
        options.onProblem?.(problem); // a full disk must not break the app
      }
    };
    let response: Response;
    try {
      response = await original(input, init);
    } catch (error) {
      const left = (error as Error).name === "AbortError";
      write({ status: 0, contentType: "", text: "" }, left ? "client-disconnect" : "upstream-error", String(error));
      throw error;
    }
    if (response.status < 400) return passOn(response, options.maxKeptBytes ?? 64 * 2 ** 20, write);
    // A refusal is short, and clients often don't read it before they try again.
    const text = await response.text();
    write({ status: response.status, contentType: response.headers.get("content-type") ?? "", text }, "upstream-error");
    return sameResponse(response, text);
  };
}

type Write = (
  answer: { status: number; contentType: string; text: string; truncated?: boolean },
  outcome: CallOutcome,
  error?: string,
) => void;

function passOn(response: Response, maxKeptBytes: number, write: Write): Response {
  const contentType = response.headers.get("content-type") ?? "";
  const { status } = response;
  if (!response.body) {
    write({ status, contentType, text: "" }, "complete");
    return response;
  }
  const kept: Uint8Array[] = [];
  let size = 0;
  let tail = "";
  const answer = () => ({
    status,
    contentType,
    text: Buffer.concat(kept).toString("utf8"),
    truncated: size > maxKeptBytes,
  });
  const streaming = contentType.includes("event-stream");
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          write(answer(), "complete");
          controller.close();
          return;
        }
        if (size < maxKeptBytes) kept.push(value);
        size += value.length;
        if (streaming) {
          const text = tail + Buffer.from(value).toString("latin1");
          if (ended.test(text)) write(answer(), "complete");
          tail = text.slice(-48);
        }
        controller.enqueue(value);
      } catch (error) {
        const left = (error as Error).name === "AbortError";
        write(answer(), left ? "client-disconnect" : "upstream-cut", String(error));
        controller.error(error);
      }
    },
    async cancel(reason) {
      write(answer(), "client-disconnect", "the client went away");
      await reader.cancel(reason);
    },
  });
  return sameResponse(response, body);
}

/** The response with another body; a made one has no address of its own. */
function sameResponse(response: Response, body: string | ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

function pathOf(url: string): string | undefined {
  try {
    const { pathname } = new URL(url);
    return isRecorded(pathname) ? pathname : undefined;
  } catch {
    return undefined;
  }
}

async function bodyText(input: string | URL | Request, init: RequestInit | undefined): Promise<string> {
  const body = init?.body;
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  if (body instanceof ArrayBuffer) return Buffer.from(body).toString("utf8");
  if (body === undefined && input instanceof Request) return input.clone().text();
  return ""; // streams and forms are passed on unrecorded
}
