/**
 * Records clients that use undici directly (`undici.request`, a fetch of their own copy), by the channels on which undici
 * tells what it sends and receives. Node's own `fetch` is undici too; its calls are marked and left to its wrapper.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";
import { headerSecrets } from "../../base/redact/redact.ts";
import { type OpenExchange, openExchange, type RecorderOptions, recordedPath } from "./exchange-recorder.ts";
import { enterCause } from "./follow-causes.ts";

interface UndiciRequest {
  method: string;
  origin?: string;
  path: string;
  headers: string | readonly (string | Buffer)[];
  body?: unknown;
  contentLength?: number | null;
  /** Set before it is sent, it ends the request. */
  error?: Error;
}

interface Watched {
  url: string;
  method: string;
  sent: Buffer[];
  secrets: string[];
  /** Runs code where the app made the request: undici tells of bodies where its sockets run. */
  asCaller: <T>(work: () => T) => T;
  exchange?: OpenExchange;
}

/** Set while Node's own `fetch` makes a call, which is recorded there. */
const insideFetch = new AsyncLocalStorage<boolean>();

/** A `fetch` whose calls are not seen a second time below. */
export function markedFetch(original: typeof fetch): typeof fetch {
  return (input, init) => insideFetch.run(true, () => original(input, init));
}

/** Starts listening to every copy of undici in the process. */
export function followUndici(options: RecorderOptions): void {
  const watched = new WeakMap<object, Watched>();
  const on = (name: string, work: (message: Record<string, unknown>, one: Watched) => void) =>
    subscribe(`undici:${name}`, (message) => {
      const told = message as { request?: object };
      const one = told.request && watched.get(told.request);
      if (!one) return;
      try {
        work(message as Record<string, unknown>, one);
      } catch (error) {
        options.onProblem?.(error);
      }
    });
  subscribe("undici:request:create", (message) => {
    const { request } = message as { request: UndiciRequest };
    const url = `${request.origin ?? ""}${request.path}`;
    if (insideFetch.getStore() || recordedPath(url, request.method) === undefined) return;
    watched.set(request, {
      url,
      method: request.method,
      sent: [],
      secrets: headerSecrets(pairsOf(request.headers)),
      asCaller: AsyncLocalStorage.snapshot(),
    });
    if (options.budget && request.method === "POST") hold(options, request, watched.get(request)!);
  });
  on("request:bodyChunkSent", ({ chunk }, one) => one.sent.push(Buffer.from(chunk as Uint8Array)));
  on("request:bodySent", (_message, one) => {
    const body = Buffer.concat(one.sent).toString("utf8");
    one.exchange ??= one.asCaller(() => openExchange(options, one.url, body, one.secrets, one.method));
  });
  on("request:headers", ({ response }, one) => {
    const { statusCode, headers } = response as { statusCode: number; headers: readonly Buffer[] };
    const found = new Map([...pairsOf(headers)].map(([name, value]) => [name.toLowerCase(), value]));
    if (one.exchange?.cause) enterCause(one.exchange.cause); // undici settles the caller's promise right after this
    one.exchange?.head(statusCode, found.get("content-type") ?? "", found.get("content-encoding"));
  });
  on("request:bodyChunkReceived", ({ chunk }, one) => one.exchange?.keep(Buffer.from(chunk as Uint8Array)));
  on("request:trailers", (_message, one) => one.exchange?.end("complete"));
  on("request:error", ({ error }, one) => {
    const left = (error as Error).name === "AbortError";
    one.exchange?.end(left ? "client-disconnect" : "upstream-cut", String(error));
  });
}

/** Undici can't be made to wait: the call goes now, with what the budget allows, or fails. */
function hold(options: RecorderOptions, request: UndiciRequest, one: Watched): void {
  if (!(request.body instanceof Uint8Array)) {
    request.error = new Error("budget: the body of this call is a stream, so its cost is unknown: send it as text");
    return;
  }
  one.exchange = openExchange(options, one.url, Buffer.from(request.body).toString("utf8"), one.secrets);
  const admitted = one.exchange?.admitNow?.();
  if (!admitted) return;
  if ("refused" in admitted) request.error = new Error(admitted.refused);
  else if (admitted.body !== undefined) {
    request.body = Buffer.from(admitted.body);
    request.contentLength = Buffer.byteLength(admitted.body);
  }
}

/** Headers as undici keeps them: one text, or names and values in turn. */
function* pairsOf(headers: string | readonly (string | Buffer)[]): Generator<[string, string]> {
  const list = typeof headers === "string" ? headers.split("\r\n").flatMap(lineOf) : headers;
  for (let at = 0; at + 1 < list.length; at += 2) yield [String(list[at]), String(list[at + 1])];
}

function lineOf(line: string): string[] {
  const colon = line.indexOf(":");
  return colon > 0 ? [line.slice(0, colon), line.slice(colon + 1).trim()] : [];
}
