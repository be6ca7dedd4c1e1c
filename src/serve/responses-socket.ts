/**
 * OpenAI responses over WebSocket, on the same path: a client sends `response.create` messages one after another and
 * reads the events of each response. What was not stored is kept as long as its connection, so that a tool loop needs
 * neither the disk nor the whole conversation again; when a continuation fails, what it continued is deleted.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { checkOrigin } from "../base/http/access.ts";
import { headersOf } from "../base/http/request-body.ts";
import { asObject, asString, type Json, objectsOf, parseJson } from "../core/json-value.ts";
import { ApiError, apiErrorOf, openaiError } from "./api-error.ts";
import type { ChainService } from "./chain-service.ts";
import { prepareResponse, type ResponsesOptions } from "./create-response.ts";
import type { EndpointSetup } from "./endpoint.ts";
import type { Caller } from "./keys.ts";
import type { ResponseStore, StoredResponse } from "./stored-responses.ts";

const longestMs = 60 * 60_000;
const pingMs = 15_000;
const mostWaiting = 16;
const mostBuffered = 2 ** 20;

/** The sockets of a server. */
export interface ResponsesSocket {
  /** Takes over a connection that asks to be upgraded. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Lets responses under way end, or that long; then closes. */
  close(maxMs: number): Promise<void>;
}

/** Serves responses over WebSocket. */
export function responsesSocket(
  setup: EndpointSetup,
  service: ChainService,
  options: ResponsesOptions,
): ResponsesSocket {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: setup.maxBodyBytes });
  const working = new Map<WebSocket, Promise<void>>();
  return {
    upgrade(request, socket, head) {
      const header = headersOf(request);
      let caller: Caller | undefined;
      try {
        const path = (request.url ?? "").replace(/\?.*$/, "").replace(/\/$/, "");
        if (path !== "/v1/responses") throw new ApiError(404, `there is no WebSocket at ${path}`);
        checkOrigin(header, setup.access);
        if (!setup.accepting()) throw new ApiError(503, "the server is stopping");
        caller = setup.admit(header);
      } catch (error) {
        refuse(socket, apiErrorOf(error));
        return;
      }
      // The first response was counted with the connection; each further one counts as a request of its own.
      const callers = () => {
        const first = caller ?? setup.admit(header);
        caller = undefined;
        return first;
      };
      sockets.handleUpgrade(request, socket, head, (open) => converse(open, callers));
    },
    async close(maxMs) {
      for (const open of sockets.clients) if (!working.has(open)) open.close(1001, "the server is stopping");
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, maxMs);
      await Promise.race([Promise.allSettled(working.values()), late.promise]);
      clearTimeout(timer);
      for (const open of sockets.clients) open.terminate();
      await Promise.allSettled(working.values());
      sockets.close();
    },
  };

  /** One connection: messages are answered in their order, one at a time. */
  function converse(open: WebSocket, callers: () => Caller): void {
    const left = new AbortController();
    const { store, forget } = connectionStore(options.store);
    let waiting = 0;
    let last = Promise.resolve();
    const alive = setInterval(() => open.ping(), pingMs).unref();
    const limit = setTimeout(() => {
      fail(open, new ApiError(400, "a connection lasts an hour: open a new one", { code: "websocket_connection_limit_reached" })); // biome-ignore format: one refusal
      open.close(1000, "the longest time of a connection is over");
    }, longestMs).unref();
    open.on("error", () => open.terminate());
    open.on("close", () => {
      clearInterval(alive);
      clearTimeout(limit);
      left.abort(new DOMException("the client left", "AbortError"));
    });
    open.on("message", (data) => {
      if (waiting >= mostWaiting) {
        fail(open, new ApiError(429, "too many messages wait on this connection", { code: "queue_full" }));
        return;
      }
      waiting++;
      last = last.then(async () => {
        const body = asObject(parseJson(String(data)));
        await answer(open, body, callers, store, left.signal).catch((error: unknown) => {
          if (left.signal.aborted) return;
          // Only what exists nowhere else is forgotten.
          forget(asString(body?.["previous_response_id"]));
          fail(open, apiErrorOf(error));
        });
        waiting--;
        if (waiting === 0) working.delete(open);
        if (waiting === 0 && !setup.accepting()) open.close(1001, "the server is stopping");
      });
      working.set(open, last);
    });
  }

  async function answer(
    open: WebSocket,
    body: Json | undefined,
    callers: () => Caller,
    store: ResponseStore,
    signal: AbortSignal,
  ): Promise<void> {
    if (body?.["type"] !== "response.create")
      throw new ApiError(400, "a message must be a JSON object of type response.create", { code: "invalid_message" });
    const wrong = ["stream", "stream_options", "background"].find((field) => body[field] !== undefined);
    if (wrong) throw new ApiError(400, `${wrong} can't be used in a WebSocket message: leave it out`, { param: wrong });
    const { type: _type, ...request } = body;
    const prepared = await prepareResponse(service, { ...options, store }, request, callers());
    for await (const event of prepared.events(signal)) {
      open.send(JSON.stringify(event));
      if (open.bufferedAmount > mostBuffered) await drained(open, signal);
    }
    const { error } = prepared.projection.response();
    if (error) throw new FailedResponse(asObject(error)!);
    if (request["store"] === false) await store.save(prepared.stored());
  }
}

/** A response that failed has told so itself. */
class FailedResponse extends ApiError {
  constructor(error: Json) {
    super(502, asString(error["message"]) ?? "", { code: asString(error["code"]) });
  }
}

function fail(open: WebSocket, error: ApiError): void {
  if (error instanceof FailedResponse) return;
  const { error: shown } = openaiError(error) as { error: Json };
  const code = error.code ?? "invalid_request";
  open.send(JSON.stringify({ type: "error", status: error.status, error: { ...shown, code } }));
}

function refuse(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(openaiError(error));
  const head = `HTTP/1.1 ${error.status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.on("error", () => {});
  socket.end(head + body);
}

/** Waits until the client has read enough. */
async function drained(open: WebSocket, signal: AbortSignal): Promise<void> {
  while (open.bufferedAmount > mostBuffered && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The store with what this connection alone knows; what is saved here stays here. */
function connectionStore(shared: ResponseStore): { store: ResponseStore; forget(id: string | undefined): void } {
  const own = new Map<string, StoredResponse>();
  const store: ResponseStore = {
    ...shared,
    async save(stored) {
      if (stored.response["store"] !== false) return shared.save(stored);
      own.set(stored.id, stored);
    },
    find: (id, owner) => own.get(id) ?? shared.find(id, owner),
    item(id, owner) {
      for (const { response, input } of own.values()) {
        const found = [...input, ...objectsOf(response["output"])].find((item) => item["id"] === id);
        if (found) return found;
      }
      return shared.item(id, owner);
    },
  };
  return { store, forget: (id) => void (id !== undefined && own.delete(id)) };
}
