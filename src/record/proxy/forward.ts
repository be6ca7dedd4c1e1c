/**
 * Passes one request to the upstream server and its answer back, chunk by chunk as it comes. Only the very last piece is
 * held for the moment it takes to write the record: a client that has seen the end of its answer finds it recorded, even
 * if this process is killed right after.
 */
import { once } from "node:events";
import type { Agent, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Call } from "../../base/http/guard.ts";
import type { StreamWriter } from "../../base/http/handler.ts";
import { Refusal } from "../../base/http/refusal.ts";
import type { WireApi } from "../../base/wire/wire-api.ts";
import { messageOf } from "../../core/errors.ts";
import { isOver } from "../read-answer.ts";
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
  headers: IncomingHttpHeaders;
  body: Buffer;
  agent: Agent;
  maxKeptBytes: number;
  /** Knows the last event of a streamed answer. */
  api?: WireApi;
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
export async function forward({ request, reply }: Call, options: ForwardOptions): Promise<void> {
  const { method, signal } = request;
  const { url, body, agent, maxKeptBytes, api } = options;
  const kept: Buffer[] = [];
  let size = 0;
  let ended: Promise<void> | undefined;
  let upstream: IncomingMessage | undefined;
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
  const outgoing = send(url, { method, headers, agent });
  outgoing.on("error", () => {}); // told where it is waited for
  const leave = () => {
    void end("client-disconnect", "the client went away");
    outgoing.destroy();
  };
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    const response = once(outgoing, "response");
    outgoing.end(body);
    [upstream] = (await response) as [IncomingMessage];
  } catch (error) {
    const message = `can't reach ${url.origin}: ${messageOf(error)}`;
    await end("upstream-error", message);
    signal.throwIfAborted();
    throw new Refusal(502, message, { code: "coa_upstream" });
  } finally {
    if (!upstream) signal.removeEventListener("abort", leave);
  }
  const { statusCode = 502, headers: given } = upstream;
  const type = String(given["content-type"] ?? "");
  const writer = reply.stream(statusCode, responseHeaders(given));
  const isLast = (text: string) =>
    api?.lastEvent.test(text) === true && isOver(api, Buffer.concat(kept).toString("utf8"), type);
  const keep = (chunk: Buffer) => {
    if (size < maxKeptBytes) kept.push(chunk);
    size += chunk.length;
  };
  try {
    await passOn(upstream, writer, /event-stream|ndjson/.test(type) ? isLast : undefined, keep, () =>
      end(statusCode >= 400 ? "upstream-error" : "complete"),
    );
    writer.end();
  } catch (error) {
    await end("upstream-cut", `the server broke off: ${messageOf(error)}`);
    reply.cut();
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** Copies an answer; `beforeEnd` runs before its last piece is passed on. */
async function passOn(
  incoming: IncomingMessage,
  writer: StreamWriter,
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
    if (out) await writer.write(out);
  }
  if (!incoming.complete) throw new Error("the connection closed before the answer was whole");
  await beforeEnd();
  if (held) await writer.write(held);
}

function requestHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const passed: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!hopByHop.has(name) && !/^(x-coa-.*|host|content-length)$/.test(name)) passed[name] = value;
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
