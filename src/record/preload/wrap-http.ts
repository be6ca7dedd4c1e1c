/**
 * Records clients that bring their own HTTP on Node's: axios, node-fetch, gaxios, the AWS SDK. What a request writes and
 * what its answer receives is copied on the way; nothing is delayed, and the answer's reader is left alone.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { headerSecrets } from "../../base/redact/redact.ts";
import { type OpenExchange, openExchange, type RecorderOptions, recordedPath } from "./exchange-recorder.ts";
import { afterCause, type Cause } from "./follow-causes.ts";
import { holdRequest } from "./hold-request.ts";

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
  const { method } = request;
  if (recordedPath(url, method) === undefined) return;
  const sent: Buffer[] = [];
  // Bodies are often piped in: only here does the code of the app itself run.
  const asCaller = AsyncLocalStorage.snapshot();
  let exchange: OpenExchange | undefined;
  const collect = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === "string")
      sent.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as "utf8") : "utf8"));
    else if (chunk instanceof Uint8Array) sent.push(Buffer.from(chunk));
  };
  const write = request.write.bind(request) as (...args: unknown[]) => boolean;
  request.write = ((...args: unknown[]) => {
    collect(args[0], args[1]);
    if (!options.budget) return write(...args);
    const done = args.find((one) => typeof one === "function");
    if (done) process.nextTick(done as () => void);
    return true; // kept, and sent with the end
  }) as typeof request.write;
  const end = request.end.bind(request) as (...args: unknown[]) => ClientRequest;
  request.end = ((...args: unknown[]) => {
    collect(args[0], args[1]);
    const body = Buffer.concat(sent).toString("utf8");
    exchange ??= asCaller(() => openExchange(options, url, body, headerSecrets(headersOf(request)), method));
    if (!options.budget) return end(...args);
    const done = args.find((one) => typeof one === "function");
    const send = (changed: string | undefined) => {
      if (changed !== undefined && !request.headersSent) request.removeHeader("content-length");
      end(changed ?? Buffer.concat(sent), done);
    };
    if (exchange?.admit) holdRequest(request, exchange, send).catch(options.onProblem);
    else send(undefined);
    return request;
  }) as typeof request.end;
  if (options.budget) request.flushHeaders = () => {}; // the length of the body may change
  const emit = request.emit.bind(request) as (...args: unknown[]) => boolean;
  request.emit = ((event: string, ...args: unknown[]) => {
    if (exchange && event === "response") follow(args[0] as IncomingMessage, exchange);
    if (exchange && event === "error") {
      exchange.end(request.destroyed && request.aborted ? "client-disconnect" : "upstream-error", String(args[0]));
    }
    if (exchange && event === "close") exchange.end("client-disconnect", "the client went away");
    return exchange?.cause ? afterCause(exchange.cause, () => emit(event, ...args)) : emit(event, ...args);
  }) as typeof request.emit;
}

/** Copies what the parser hands to the answer; the app reads it when it likes. */
function follow(answer: IncomingMessage, exchange: OpenExchange): void {
  exchange.head(
    answer.statusCode ?? 0,
    String(answer.headers["content-type"] ?? ""),
    String(answer.headers["content-encoding"] ?? ""),
  );
  if (exchange.cause) emitAfter(answer, exchange.cause);
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

/** Listeners of the answer run as code that comes after the reply. */
function emitAfter(answer: IncomingMessage, cause: Cause): void {
  const emit = answer.emit.bind(answer) as (...args: unknown[]) => boolean;
  answer.emit = ((...args: unknown[]) => afterCause(cause, () => emit(...args))) as typeof answer.emit;
}

function* headersOf(request: ClientRequest): Generator<[string, string]> {
  for (const [name, value] of Object.entries(request.getHeaders())) yield [name, String(value)];
}
