/**
 * The one guarded handler: whatever a server of ours serves stands behind it. It checks which page and host name a request
 * comes through and which key it brings, reads bodies within limits, finds the route, answers errors in the shape of the
 * server's API with one table of statuses, gives every answer an id, and hands one line of log per request to its owner.
 */
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import type { z } from "zod";
import { budgets, most } from "../../core/budget.ts";
import { isAbort, messageOf } from "../../core/errors.ts";
import { asObject, defined, type Json } from "../../core/json-value.ts";
import { printable } from "../../core/printable.ts";
import { checkOrigin, corsHeaders, keyFinder, keyOf, preflightHeaders } from "./access.ts";
import {
  type BodyMeter,
  fetchHandler,
  type Handler,
  type HttpRequest,
  jsonOf,
  type Reply,
  replyJson,
  unpack,
} from "./handler.ts";
import { type Protocol, parse, Refusal, refusalOf, statusOf, stopCause } from "./refusal.ts";

export interface Call<Caller = unknown> {
  request: HttpRequest;
  reply: Reply;
  /** Who sent it, as `admit` says. */
  caller: Caller;
  id: string;
  /** Headers that its answer carries; what is added here goes with them. */
  headers: Record<string, string>;
  raw(): Promise<Buffer>;
  bytes(): Promise<Buffer>;
  json(): Promise<Json>;
  /** An error in the shape of this API. */
  errorBody(error: unknown): unknown;
}

/** Answers a call; a value that it returns is sent as JSON. */
export type Route<Caller = unknown> = (call: Call<Caller>) => unknown;

/** What is known of a request when it was answered. */
export interface RequestLine {
  id: string;
  method: string;
  path: string;
  /** The pattern of its route; empty where none was found. */
  route: string;
  /** 499 where the client left. */
  status: number;
  ms: number;
  /** When its stream began, how long it waited, the key's name, the chain that answered and its tokens, where they are known. */
  firstMs?: number;
  queuedMs?: number;
  caller?: string;
  chain?: string;
  tokens?: number;
  /** What broke, where this server is at fault. */
  error?: unknown;
}

/** What a server's owner may set, whatever it serves. */
export interface GuardSettings {
  /** Web pages and host names that may ask, besides this machine's own. */
  access?: { origins?: readonly string[]; hosts?: readonly string[] };
  /** API keys. Empty: no authentication. */
  keys?: readonly string[];
  /** Called with each request that was answered; faults of this server go to stderr by default. */
  onRequest?: (line: RequestLine) => void;
}

export interface GuardOptions<Caller, Key extends string | { key: string }> extends Omit<GuardSettings, "keys"> {
  /** Keys that callers must bring, bare or with what belongs to them. */
  keys?: readonly Key[];
  /** The caller of a key, or of no key where none is needed; refuses one that may send no more. */
  admit?: (key: Key | undefined) => Promise<Caller & { headers?: Record<string, string> }>;
  /** Where the key of a request is; in `Authorization` or `X-API-Key` by default. */
  keyOf?: (header: HttpRequest["header"]) => string | undefined;
  /** Said to a request without a known key. */
  keyText?: string;
  /** Paths that need no key, also while the server stops. */
  isOpen?: (path: string) => boolean;
  /** Largest body on the wire (20 MB by default), after unpacking (the same), and of all requests at a time (1 GB). */
  maxBodyBytes?: number;
  maxUnpackedBytes?: number;
  maxHeldBytes?: number;
  /** The body of an error in the server's API. */
  errorBody: (refusal: Refusal, path: string) => unknown;
  /** The protocol, where it has statuses of its own. */
  protocol?: Protocol;
  /** False while the server stops. */
  accepting?: () => boolean;
  headers?: Record<string, string>;
}

export interface Guarded {
  /** @internal */
  handler: Handler;
  /** The same for frameworks that speak fetch. */
  fetch(request: Request): Promise<Response>;
  /** @internal */
  keyed: boolean;
  /** Breaks off what still runs: streams end with this refusal, other requests are answered with it. @internal */
  stop(reason: Refusal): void;
}

/** Puts routes, or one route for everything, behind the guard. */
export function guarded<Caller = undefined, Key extends string | { key: string } = string>(
  served: Readonly<Record<string, Route<Caller>>> | Route<Caller>,
  options: GuardOptions<Caller, Key>,
): Guarded {
  const {
    access = {},
    keys = [],
    maxBodyBytes = budgets.request.bytes,
    maxUnpackedBytes = maxBodyBytes,
    protocol,
  } = options;
  const { onRequest = logFault, accepting = () => true } = options;
  const isOpen = options.isOpen ?? (() => false);
  const find = typeof served === "function" ? undefined : routeFinder(served);
  const findKey = keyFinder(keys.map((own) => ({ own, key: typeof own === "string" ? own : own.key })));
  const running = new Set<AbortController>();
  const meter: BodyMeter = { held: 0, max: options.maxHeldBytes ?? Math.max(most.heldBytes, 2 * maxBodyBytes) };

  /** The entry of the key that a request brings; undefined where none is needed. */
  const entryOf = (header: HttpRequest["header"]): Key | undefined => {
    if (keys.length === 0) return undefined;
    const given = (options.keyOf ?? keyOf)(header);
    const found = given === undefined ? undefined : findKey(given);
    if (found) return found.own;
    const text =
      given === undefined ? "send a key (Authorization: Bearer <key>, or X-API-Key)" : "this key is not known";
    throw new Refusal(401, options.keyText ?? text, { code: "invalid_api_key" });
  };

  const handler: Handler = async (given, plain) => {
    const started = performance.now();
    const stop = new AbortController();
    const request = { ...given, signal: stop.signal };
    const leave = () => stop.abort(given.signal.reason);
    if (given.signal.aborted) leave();
    given.signal.addEventListener("abort", leave, { once: true });
    running.add(stop);
    const id = `req_${randomUUID().replaceAll("-", "")}`;
    const headers: Record<string, string> = { ...options.headers, "x-request-id": id };
    let status = 200;
    let held = 0;
    let pattern = "";
    let firstMs: number | undefined;
    let who: { name?: string; queuedMs?: number; used?: { billedTokens: number } } | undefined;
    let fault: unknown;
    const errorBody = (error: unknown) => {
      const refused = refusalOf(error, protocol);
      if (refused.status >= 500) fault = error;
      return options.errorBody(refused, request.path);
    };
    const reply: Reply = {
      get started() {
        return plain.started;
      },
      send(code, body, more) {
        status = code;
        plain.send(code, body, { ...headers, ...more });
      },
      stream(code, more) {
        status = code;
        firstMs = performance.now() - started;
        return plain.stream(code, { ...headers, ...more });
      },
      cut: plain.cut,
    };
    const raw = once(async () => {
      const body = await request.read(maxBodyBytes, meter);
      held = body.length;
      return body;
    });
    const bytes = once(async () => unpack(await raw(), request.header("content-encoding"), maxUnpackedBytes));
    const json = async (): Promise<Json> => {
      const body = asObject(jsonOf(await bytes()));
      if (!body) throw new Refusal(400, "the body must be a JSON object");
      return body;
    };
    try {
      checkOrigin(request.header, access);
      const cors = corsHeaders(request.header, access);
      Object.assign(headers, cors);
      if (cors && request.method === "OPTIONS") return reply.send(204, "", preflightHeaders(request.header));
      const found = find?.(request.method, request.path);
      if (found && "pattern" in found) pattern = found.pattern;
      const open = isOpen(request.path);
      if (!open && !accepting()) throw new Refusal(503, "the server is stopping", { headers: { "retry-after": "5" } });
      const entry = open ? undefined : entryOf(request.header);
      who = entry as typeof who; // also where it is refused because it may send no more
      const caller = (open ? undefined : await options.admit?.(entry)) as Caller & { headers?: Record<string, string> };
      Object.assign(headers, caller?.headers);
      who = caller as typeof who;
      if (found instanceof Refusal) throw found;
      const { work, params } = found ?? { work: served as Route<Caller>, params: {} };
      const value = await work({ request: { ...request, params }, reply, caller, id, headers, raw, bytes, json, errorBody }); // biome-ignore format: one call
      if (value !== undefined) replyJson(reply, 200, value);
    } catch (thrown) {
      const error = stopCause(request.signal, thrown);
      if (request.signal.aborted && isAbort(error)) status = 499;
      else {
        const refused = refusalOf(error, protocol);
        const body = errorBody(error);
        if (reply.started) reply.cut();
        else replyJson(reply, refused.status, body, refused.headers);
      }
    } finally {
      running.delete(stop);
      meter.held -= held;
      const { method, path } = request;
      const ms = performance.now() - started;
      const chain = headers["x-coa-trajectory"];
      const { name, used, queuedMs } = who ?? {};
      const known = defined({ firstMs, queuedMs, caller: name, chain, tokens: used?.billedTokens, error: fault });
      const line: RequestLine = { id, method, path, route: pattern, status, ms, ...known };
      try {
        onRequest(line);
      } catch (error) {
        console.error(printable(inspect(error))); // the answer has been given
      }
    }
  };
  const stop = (reason: Refusal) => running.forEach((one) => void one.abort(reason));
  return { handler, fetch: fetchHandler(handler), keyed: keys.length > 0, stop };
}

/** A route whose body has this form; another is refused. */
export function withBody<Body>(schema: z.ZodType<Body>, work: (body: Body, call: Call) => unknown): Route {
  return async (call) => work(parse(schema, await call.json()), call);
}

/** One line of log about a request. */
function requestText({ id, method, path, status, ms, error }: RequestLine): string {
  return `${id} ${method} ${path} ${status} ${Math.round(ms)} ms${error === undefined ? "" : `: ${messageOf((error as Error).cause ?? error)}`}`;
}

/** Writes a line about each request that this server broke on. */
export function faults(write: (text: string) => void): (line: RequestLine) => void {
  return (line) => {
    if (line.error !== undefined && statusOf(line.error) === 500) write(requestText(line));
  };
}

/** Where faults go that no owner of a server takes: to stderr. */
export const logFault = faults((text) => console.error(printable(text)));

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => (done ??= work());
}

/** A route that was found, with the parts of the path that it names. */
interface Found<Work> {
  pattern: string;
  work: Work;
  params: Record<string, string>;
}

/** Finds the route of a request, or what it is refused with. */
function routeFinder<Work>(
  table: Readonly<Record<string, Work>>,
): (method: string, path: string) => Found<Work> | Refusal {
  const routes = Object.entries(table).map(([pattern, work]) => {
    const [method = "", path = ""] = pattern.split(" ");
    return { pattern, method, parts: path.split("/"), work };
  });
  // What is written out comes before what is open: /tools/batch is not the tool named batch.
  routes.sort((a, b) => Number(a.pattern.includes("{")) - Number(b.pattern.includes("{")));
  return (asked, given) => {
    const path = given.length > 1 ? given.replace(/\/$/, "") : given;
    const method = asked === "HEAD" ? "GET" : asked;
    const parts = path.split("/");
    const fitting: string[] = [];
    for (const { pattern, method: served, parts: wanted, work } of routes) {
      const params = match(wanted, parts);
      if (params && served === method) return { pattern, work, params };
      if (params) fitting.push(served);
    }
    if (fitting.length === 0) return new Refusal(404, `nothing is served at ${asked} ${path}`);
    return new Refusal(405, `${asked} is not served at ${path}`, { headers: { allow: fitting.join(", ") } });
  };
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | undefined {
  if (pattern[0] === "**") {
    const end = pattern.slice(1);
    return parts.length > end.length ? match(end, parts.slice(-end.length)) : undefined;
  }
  if (pattern.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index]!;
    if (!wanted.startsWith("{")) {
      if (wanted !== part) return undefined;
    } else if (part === "") return undefined;
    else {
      try {
        params[wanted.slice(1, -1)] = decodeURIComponent(part);
      } catch {
        return undefined;
      }
    }
  }
  return params;
}
