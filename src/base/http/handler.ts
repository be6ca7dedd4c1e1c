/**
 * A handler is written once, against a request, a signal and a reply, and used in two ways: as a node:http listener
 * with back-pressure, and as a fetch handler for frameworks. The signal aborts when the client leaves before its answer
 * is complete.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Listener } from "./listen.ts";
import { headersOf, RefusedRequest, readBytes, unpack } from "./request-body.ts";

/** What a handler is asked. */
export interface HttpRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The parts of the path that its route names. */
  params: Record<string, string>;
  /** The unpacked body; more than the limit is refused with 413. */
  bytes(maxBytes: number): Promise<Buffer>;
  /** Aborts when the client leaves. */
  signal: AbortSignal;
  /** The address of the peer, where it is known. */
  peer: string | undefined;
}

/** Writes a stream of text. */
export interface StreamWriter {
  /** Resolves when there is room for more: a slow reader slows its writer. */
  write(text: string): Promise<void> | undefined;
  end(): void;
}

/** How a handler answers: whole, or as a stream. */
export interface Reply {
  readonly started: boolean;
  send(status: number, body: string | Uint8Array, headers: Record<string, string>): void;
  stream(status: number, headers: Record<string, string>): StreamWriter;
}

/** Answers a request. What it throws is the caller's to answer. */
export type Handler = (request: HttpRequest, reply: Reply) => Promise<void>;

/** Reads a body as JSON; what is not JSON is refused with 400. */
export async function readJson(request: HttpRequest, maxBytes: number): Promise<unknown> {
  const bytes = await request.bytes(maxBytes);
  if (!isUtf8(bytes)) throw new RefusedRequest(400, "the body is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new RefusedRequest(400, `the body is not JSON: ${(error as Error).message}`);
  }
  if (isDeeper(value, deepest)) throw new RefusedRequest(400, `the body is nested deeper than ${deepest} levels`);
  return value;
}

/** A deeper value would overflow the stack of recursive code. */
const deepest = 256;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const part of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(part, levels - 1)) return true;
  return false;
}

/** Answers with JSON. */
export function replyJson(reply: Reply, status: number, value: unknown, headers: Record<string, string> = {}): void {
  if (!reply.started) reply.send(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
}

/** A client that reads nothing for so long counts as gone; otherwise its writer would wait for ever. */
const longestStallMs = 300_000;

/** The handler as a listener of node:http. */
export function nodeListener(handler: Handler, { stallMs = longestStallMs } = {}): Listener {
  return async (request, response) => {
    const left = new AbortController();
    const onClose = () => {
      if (!response.writableFinished) left.abort(new DOMException("the client left", "AbortError"));
    };
    response.once("close", onClose);
    try {
      await handler(requestOf(request, left.signal), nodeReply(response, stallMs));
    } finally {
      response.off("close", onClose);
    }
  };
}

function requestOf(request: IncomingMessage, signal: AbortSignal): HttpRequest {
  const [path, query = ""] = split(request.url ?? "/");
  return {
    method: request.method ?? "GET",
    path,
    query: new URLSearchParams(query),
    header: headersOf(request),
    params: {},
    bytes: async (maxBytes) =>
      unpack(await readBytes(request, maxBytes), request.headers["content-encoding"], maxBytes),
    signal,
    peer: request.socket.remoteAddress,
  };
}

function nodeReply(response: ServerResponse, stallMs: number): Reply {
  return {
    get started() {
      return response.headersSent;
    },
    send(status, body, headers) {
      if (response.headersSent || response.destroyed) return;
      response.writeHead(status, { "content-length": Buffer.byteLength(body), ...headers });
      response.end(body);
    },
    stream(status, headers) {
      response.writeHead(status, headers);
      response.flushHeaders();
      return {
        write(text) {
          if (response.destroyed || response.write(text)) return undefined;
          return new Promise((resolve) => {
            const stalled = setTimeout(() => response.destroy(), stallMs);
            const go = () => {
              clearTimeout(stalled);
              response.off("drain", go);
              response.off("close", go);
              resolve();
            };
            response.once("drain", go);
            response.once("close", go);
          });
        },
        end: () => void response.end(),
      };
    },
  };
}

/** The handler as a fetch function, for frameworks (Hono, Next). `refuse` answers what the handler throws. */
export function fetchHandler(
  handler: Handler,
  refuse: (reply: Reply, error: unknown) => void,
): (request: Request) => Promise<Response> {
  return (request) =>
    new Promise((resolve) => {
      const left = new AbortController();
      request.signal.addEventListener("abort", () => left.abort(request.signal.reason), { once: true });
      const reply = fetchReply(resolve, left);
      handler(fetchRequest(request, left.signal), reply).catch((error: unknown) => refuse(reply, error));
    });
}

function fetchRequest(request: Request, signal: AbortSignal): HttpRequest {
  const url = new URL(request.url);
  return {
    method: request.method,
    path: url.pathname,
    query: url.searchParams,
    header: (name) => request.headers.get(name) ?? (name === "host" ? url.host : undefined),
    params: {},
    async bytes(maxBytes) {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of request.body ?? []) {
        size += chunk.length;
        if (size > maxBytes) throw new RefusedRequest(413, `the body has more than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      return unpack(Buffer.concat(chunks), request.headers.get("content-encoding") ?? undefined, maxBytes);
    },
    signal,
    peer: undefined,
  };
}

function fetchReply(resolve: (response: Response) => void, left: AbortController): Reply {
  let started = false;
  return {
    get started() {
      return started;
    },
    send(status, body, headers) {
      if (started) return;
      started = true;
      resolve(new Response(body as string, { status, headers }));
    },
    stream(status, headers) {
      started = true;
      const encoder = new TextEncoder();
      let wake: (() => void) | undefined;
      let controller: ReadableStreamDefaultController<Uint8Array>;
      const body = new ReadableStream<Uint8Array>({
        start(given) {
          controller = given;
        },
        pull: () => wake?.(),
        cancel(reason) {
          left.abort(reason ?? new DOMException("the client left", "AbortError"));
          wake?.();
        },
      });
      resolve(new Response(body, { status, headers }));
      return {
        write(text) {
          if (left.signal.aborted) return undefined;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 1) > 0) return undefined;
          return new Promise((go) => {
            wake = go;
          });
        },
        end() {
          if (!left.signal.aborted) controller.close();
        },
      };
    },
  };
}

function split(url: string): [string, string?] {
  const at = url.indexOf("?");
  return at === -1 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}
