/**
 * A handler is written once, against a request, a signal and a reply, and used in two ways: as a node:http listener
 * with back-pressure, and as a fetch handler for frameworks. The signal aborts when the client leaves before its answer
 * is complete.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { budgets, jsonExcess } from "../../core/budget.ts";
import { messageOf } from "../../core/errors.ts";
import { Refusal } from "./refusal.ts";

export interface HttpRequest {
  method: string;
  /** As it was sent: path and query. */
  url: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  headers: Readonly<IncomingHttpHeaders>;
  header(name: string): string | undefined;
  /** The parts of the path that its route names. */
  params: Record<string, string>;
  /** The body as it came; more than the limit is refused with 413. */
  read(maxBytes: number, meter?: BodyMeter): Promise<Buffer>;
  /** Aborts when the client leaves. */
  signal: AbortSignal;
}

export type ReplyHeaders = Record<string, string | string[]>;

export interface StreamWriter {
  /** Resolves when there is room for more: a slow reader slows its writer. */
  write(chunk: string | Uint8Array): Promise<void> | undefined;
  end(): void;
}

/** How a handler answers: whole, or as a stream. */
export interface Reply {
  readonly started: boolean;
  send(status: number, body: string | Uint8Array, headers: ReplyHeaders): void;
  stream(status: number, headers: ReplyHeaders): StreamWriter;
  /** Breaks the connection off: the client sees that its answer is not whole. */
  cut(): void;
}

export type Handler = (request: HttpRequest, reply: Reply) => Promise<void>;

export function replyJson(reply: Reply, status: number, value: unknown, headers: ReplyHeaders = {}): void {
  if (!reply.started) reply.send(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
}

/** A client that reads nothing for so long counts as gone; otherwise its writer would wait for ever. */
const longestStallMs = 300_000;

/** The handler as a listener of node:http: resolves when its work is done and the answer has left. */
export function nodeListener(
  handler: Handler,
  stallMs = longestStallMs,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const left = new AbortController();
    const closed = Promise.withResolvers<void>();
    response.once("close", () => {
      if (!response.writableFinished) left.abort(new DOMException("the client left", "AbortError"));
      closed.resolve();
    });
    const work = handler(requestOf(request, left.signal), nodeReply(response, stallMs));
    await work.catch(() => response.destroy()); // a guarded handler answers its own errors
    await closed.promise;
  };
}

function requestOf(request: IncomingMessage, signal: AbortSignal): HttpRequest {
  const url = request.url ?? "/";
  const at = url.indexOf("?");
  return {
    method: request.method ?? "GET",
    url,
    path: at === -1 ? url : url.slice(0, at),
    query: new URLSearchParams(at === -1 ? "" : url.slice(at + 1)),
    headers: request.headers,
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    params: {},
    read: (maxBytes, meter) => readBytes(request, maxBytes, { stated: request.headers["content-length"], meter }),
    signal,
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
      if (/event-stream|ndjson/.test(String(headers["content-type"]))) response.flushHeaders();
      const pieces = pieceWriter(response);
      let full: Promise<void> | undefined;
      return {
        write(chunk) {
          if (response.destroyed || pieces.write(chunk)) return undefined;
          return (full ??= new Promise<void>((resolve) => {
            const stalled = setTimeout(() => response.destroy(), stallMs);
            const { socket } = response;
            const go = () => {
              clearTimeout(stalled);
              for (const one of [response, socket]) one?.off("drain", go).off("close", go);
              full = undefined;
              resolve();
            };
            for (const one of [response, socket]) one?.once("drain", go).once("close", go);
          }));
        },
        end() {
          pieces.flush();
          response.end();
        },
      };
    },
    cut: () => void response.destroy(),
  };
}

const heldCharacters = 16_384;

/**
 * Writes the pieces of a stream; false where there is no more room. Texts of one tick leave together, and go to the socket with
 * their frame around them: node:http would write the same in three parts.
 */
function pieceWriter(response: ServerResponse): { write(chunk: string | Uint8Array): boolean; flush(): void } {
  let held = "";
  function flush(): void {
    const { socket } = response; // none while an earlier answer on this connection is not over
    const text = held;
    held = "";
    if (text === "" || response.destroyed) return;
    if (socket) response.flushHeaders();
    const framed = response.chunkedEncoding && response.req.method !== "HEAD";
    if (!socket || !framed) return void response.write(text);
    const bytes = Buffer.byteLength(text);
    // Of a text without other letters the bytes are those of latin1, which are copied as they are.
    socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, bytes === text.length ? "latin1" : "utf8");
  }
  return {
    flush,
    write(chunk) {
      if (typeof chunk === "string") {
        if (held === "" && chunk !== "") process.nextTick(flush);
        held += chunk;
        if (held.length >= heldCharacters) flush(); // a tick may be long
        return !(response.socket ?? response).writableNeedDrain;
      }
      flush();
      return response.write(chunk);
    },
  };
}

/** The handler as a fetch function, for frameworks (Hono, Next). */
export function fetchHandler(handler: Handler): (request: Request) => Promise<Response> {
  return (request) =>
    new Promise((resolve, reject) => {
      const left = new AbortController();
      request.signal.addEventListener("abort", () => left.abort(request.signal.reason), { once: true });
      handler(fetchRequest(request, left.signal), fetchReply(resolve, reject, left)).catch(reject);
    });
}

function fetchRequest(request: Request, signal: AbortSignal): HttpRequest {
  const url = new URL(request.url);
  const header = (name: string) => request.headers.get(name) ?? (name === "host" ? url.host : undefined);
  return {
    method: request.method,
    url: url.pathname + url.search,
    path: url.pathname,
    query: url.searchParams,
    headers: Object.fromEntries(request.headers),
    header,
    params: {},
    read: (maxBytes, meter) =>
      readBytes(request.body ?? new Blob().stream(), maxBytes, { stated: header("content-length"), meter }),
    signal,
  };
}

function fetchReply(
  resolve: (response: Response) => void,
  reject: (reason: unknown) => void,
  left: AbortController,
): Reply {
  let started = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const answer = (body: ConstructorParameters<typeof Response>[0], status: number, given: ReplyHeaders) => {
    started = true;
    const headers = new Headers();
    for (const [name, value] of Object.entries(given)) for (const one of [value].flat()) headers.append(name, one);
    const none = status === 204 || status === 304;
    resolve(new Response(none ? null : body, { status, headers }));
  };
  return {
    get started() {
      return started;
    },
    send(status, body, headers) {
      if (!started) answer(body as string, status, headers);
    },
    stream(status, headers) {
      const encoder = new TextEncoder();
      let wake: (() => void) | undefined;
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
      answer(body, status, headers);
      return {
        write(chunk) {
          if (left.signal.aborted) return undefined;
          controller!.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
          if ((controller!.desiredSize ?? 1) > 0) return undefined;
          return new Promise((go) => {
            wake = go;
          });
        },
        end() {
          if (!left.signal.aborted) controller!.close();
        },
      };
    },
    cut() {
      const reason = new TypeError("the connection was broken off");
      controller?.error(reason);
      reject(reason);
    },
  };
}

/** Counts what all requests together hold, so that many at once can't fill the memory either. */
export interface BodyMeter {
  held: number;
  readonly max: number;
}

/** The bytes as they came. With a meter they count until the caller takes them off it. */
export async function readBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  { stated, meter }: { stated?: string; meter?: BodyMeter } = {},
): Promise<Buffer> {
  if (Number(stated ?? 0) > maxBytes)
    throw new Refusal(413, `the body has ${stated} bytes, at most ${maxBytes} are taken`);
  const kept: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (meter) meter.held += chunk.length;
      if (meter && meter.held > meter.max) throw new Refusal(503, "too much is arriving at once: try again");
      if (size > maxBytes) throw new Refusal(413, `the body has more than ${maxBytes} bytes`);
      kept.push(chunk);
    }
  } catch (error) {
    if (meter) meter.held -= size;
    throw error instanceof Refusal ? error : new Refusal(499, `the client left: ${messageOf(error)}`);
  }
  return Buffer.concat(kept, size);
}

/** Bytes as JSON; what is not UTF-8, not JSON, nested without end or of too many parts is refused. */
export function jsonOf(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Refusal(400, "the body is not UTF-8");
  const text = bytes.toString("utf8");
  const excess = jsonExcess(text, budgets.request);
  if (excess) throw new Refusal(400, `the body ${excess}`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${messageOf(error).slice(0, 200)}`);
  }
}

const unpackers = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

/** Unpacks a body; an unknown coding, a broken one and a bomb are refused. */
export async function unpack(body: Buffer, encoding: string | undefined, maxUnpackedBytes: number): Promise<Buffer> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  const unpacker = unpackers[name as keyof typeof unpackers];
  if (!unpacker) throw new Refusal(415, `content-encoding "${name}" is not known`);
  try {
    return (await unpacker(body, { maxOutputLength: maxUnpackedBytes })) as Buffer;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ERR_BUFFER_TOO_LARGE") {
      throw new Refusal(413, `the body unpacks to more than ${maxUnpackedBytes} bytes`);
    }
    throw new Refusal(400, `the body is not valid ${name}: ${(error as Error).message}`);
  }
}
