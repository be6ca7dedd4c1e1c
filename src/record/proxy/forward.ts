/**
 * Passes one request to the upstream server and its answer back, chunk by chunk as it comes. Only the very last piece is
 * held for the moment it takes to write the record: a client that has seen the end of its answer finds it recorded, even
 * if this process is killed right after.
 */
import type { Agent, IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { sendJson } from "../../base/http/request-body.ts";
import { messageOf } from "../../core/errors.ts";
import type { CallOutcome } from "../recorded-call.ts";

export interface Forwarded {
  status: number;
  outcome: CallOutcome;
  contentType: string;
  contentEncoding?: string;
  body: Buffer;
  truncated: boolean;
  error?: string;
}

export interface ForwardOptions {
  url: URL;
  method: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  agent: Agent;
  response: ServerResponse;
  maxKeptBytes: number;
  /** Found in the last event of a streamed answer, and perhaps in others. */
  lastEvent?: RegExp;
  /** Whether what has come so far is the whole of it. */
  isOver?(soFar: Buffer, contentType: string): boolean;
  /** Called once, before the client sees the end. */
  onEnd(forwarded: Forwarded): Promise<void>;
}

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Resolves when the exchange is over and recorded, however it ended. */
export function forward(options: ForwardOptions): Promise<void> {
  const { url, method, body, agent, response, maxKeptBytes } = options;
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let size = 0;
    let ended: Promise<void> | undefined;
    let upstream: IncomingMessage | undefined;
    const keep = (chunk: Buffer) => {
      if (size < maxKeptBytes) kept.push(chunk);
      size += chunk.length;
    };
    const end = (outcome: CallOutcome, error?: string): Promise<void> => {
      ended ??= options
        .onEnd({
          status: upstream?.statusCode ?? 0,
          outcome,
          contentType: String(upstream?.headers["content-type"] ?? ""),
          ...(upstream?.headers["content-encoding"] && { contentEncoding: upstream.headers["content-encoding"] }),
          body: Buffer.concat(kept),
          truncated: size > maxKeptBytes,
          ...(error !== undefined && { error }),
        })
        .catch(() => {}); // the caller has reported it; the client's answer continues
      return ended;
    };
    // Looked up here, long loaded by the proxy: importing the package should not pay for it.
    const { request: send } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
    const headers = { ...requestHeaders(options.headers), host: url.host, "content-length": String(body.length) };
    const outgoing = send(url, { method, headers, agent: agent as never }, (incoming) => {
      upstream = incoming;
      response.writeHead(incoming.statusCode ?? 502, responseHeaders(incoming.headers));
      const streaming = /event-stream|ndjson/.test(String(incoming.headers["content-type"] ?? ""));
      if (streaming) response.flushHeaders();
      const failed = (incoming.statusCode ?? 500) >= 400;
      const type = String(incoming.headers["content-type"] ?? "");
      const isLast = (text: string) =>
        options.lastEvent?.test(text) === true && (options.isOver?.(Buffer.concat(kept), type) ?? true);
      passOn(incoming, response, streaming ? isLast : undefined, keep, () =>
        end(failed ? "upstream-error" : "complete"),
      )
        .then(() => response.end(resolve))
        .catch(async (error: unknown) => {
          await end("upstream-cut", `the server broke off: ${messageOf(error)}`);
          response.destroy();
          resolve();
        });
    });
    outgoing.on("error", async (error) => {
      if (upstream) return; // its own error event tells
      await end(
        response.destroyed ? "client-disconnect" : "upstream-error",
        `can't reach ${url.origin}: ${error.message}`,
      );
      sendJson(response, 502, {
        error: { type: "coa_upstream", message: `can't reach ${url.origin}: ${error.message}` },
      });
      resolve();
    });
    response.on("close", async () => {
      if (response.writableFinished) return;
      const first = end("client-disconnect", "the client went away");
      outgoing.destroy();
      await first;
      resolve();
    });
    outgoing.end(body);
  });
}

/** Copies an answer; `beforeEnd` runs before its last piece is passed on. */
async function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  isLast: ((text: string) => boolean) | undefined,
  keep: (chunk: Buffer) => void,
  beforeEnd: () => Promise<void>,
): Promise<void> {
  let held: Buffer | undefined;
  let tail = "";
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    keep(chunk);
    let out: Buffer | undefined = chunk;
    if (isLast) {
      const text = tail + chunk.toString("latin1");
      if (isLast(text)) await beforeEnd();
      tail = text.slice(-48);
    } else [out, held] = [held, chunk];
    if (out && !response.write(out) && !response.destroyed) await drained(response);
  }
  if (!incoming.complete) throw new Error("the connection closed before the answer was whole");
  await beforeEnd();
  if (held) response.write(held);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

function requestHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const passed: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!hopByHop.has(name) && name !== "x-coa-run" && name !== "host" && name !== "content-length")
      passed[name] = value;
  }
  // An answer that is not packed can be read as it passes.
  passed["accept-encoding"] = "identity";
  return passed;
}

function responseHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((pair): pair is [string, string] => !hopByHop.has(pair[0]) && pair[1] !== undefined),
  );
}
