/**
 * Records clients that bring their own HTTP on Node's: axios, node-fetch, gaxios, the AWS SDK. What a request writes and
 * what its answer receives is copied on the way; nothing is delayed, and the answer's reader is left alone.
 */
import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { headerSecrets } from "../../base/redact/redact.ts";
import { type OpenExchange, openExchange, type RecorderOptions, recordedPath } from "./exchange-recorder.ts";

/** Wraps `request` and `get` of `node:http` and `node:https`, also for modules that import them by name. */
export function wrapHttp(options: RecorderOptions): void {
  for (const module of [http, https]) {
    const secure = module === https;
    const request = module.request as (...args: unknown[]) => ClientRequest;
    const wrapped = (...args: unknown[]): ClientRequest => {
      const made = request.apply(module, args);
      try {
        watch(made, secure, options);
      } catch (error) {
        options.onProblem?.(error);
      }
      return made;
    };
    const get = (...args: unknown[]): ClientRequest => {
      const made = wrapped(...args);
      made.end();
      return made;
    };
    Object.assign(module, { request: wrapped, get });
  }
  syncBuiltinESMExports();
}

function watch(request: ClientRequest, secure: boolean, options: RecorderOptions): void {
  const host = String(request.getHeader("host") ?? request.host);
  const url = `${secure ? "https" : "http"}://${host}${request.path}`;
  if (/websocket/i.test(String(request.getHeader("upgrade") ?? ""))) options.onUnrecorded?.(`websocket ${host}`);
  if (request.method !== "POST" || recordedPath(url) === undefined) return;
  const sent: Buffer[] = [];
  let exchange: OpenExchange | undefined;
  const collect = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === "string")
      sent.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as "utf8") : "utf8"));
    else if (chunk instanceof Uint8Array) sent.push(Buffer.from(chunk));
  };
  const write = request.write.bind(request) as (...args: unknown[]) => boolean;
  request.write = ((...args: unknown[]) => {
    collect(args[0], args[1]);
    return write(...args);
  }) as typeof request.write;
  const end = request.end.bind(request) as (...args: unknown[]) => ClientRequest;
  request.end = ((...args: unknown[]) => {
    collect(args[0], args[1]);
    exchange ??= openExchange(options, url, Buffer.concat(sent).toString("utf8"), headerSecrets(headersOf(request)));
    return end(...args);
  }) as typeof request.end;
  const emit = request.emit.bind(request) as (...args: unknown[]) => boolean;
  request.emit = ((event: string, ...args: unknown[]) => {
    if (exchange && event === "response") follow(args[0] as IncomingMessage, exchange);
    if (exchange && event === "error") {
      exchange.end(request.destroyed && request.aborted ? "client-disconnect" : "upstream-error", String(args[0]));
    }
    if (exchange && event === "close") exchange.end("client-disconnect", "the client went away");
    return emit(event, ...args);
  }) as typeof request.emit;
}

/** Copies what the parser hands to the answer; the app reads it when it likes. */
function follow(answer: IncomingMessage, exchange: OpenExchange): void {
  exchange.head(
    answer.statusCode ?? 0,
    String(answer.headers["content-type"] ?? ""),
    String(answer.headers["content-encoding"] ?? ""),
  );
  const push = answer.push.bind(answer);
  answer.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null) exchange.end(answer.complete ? "complete" : "upstream-cut");
    else if (chunk instanceof Uint8Array) exchange.keep(Buffer.from(chunk));
    return push(chunk, encoding);
  };
  const destroy = answer.destroy.bind(answer);
  answer.destroy = (error?: Error) => {
    exchange.end(error ? "upstream-cut" : "client-disconnect", error ? String(error) : "the client went away");
    return destroy(error);
  };
}

function* headersOf(request: ClientRequest): Generator<[string, string]> {
  for (const [name, value] of Object.entries(request.getHeaders())) yield [name, String(value)];
}
