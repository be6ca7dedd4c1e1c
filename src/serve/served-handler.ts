/**
 * What the servers for apps and trainers share: keys with quotas, health, readiness and metrics, answers that are given
 * again under one idempotency key, and the end of accepting. The rest is the guard's.
 */
import type { z } from "zod";
import { packageVersion } from "../base/files/package-version.ts";
import { type Guarded, type GuardSettings, guarded, logFault } from "../base/http/guard.ts";
import { replyJson } from "../base/http/handler.ts";
import type { Refusal } from "../base/http/refusal.ts";
import type { Json } from "../core/json-value.ts";
import { idempotentReplies } from "./idempotent-replies.ts";
import { type Callers, callers, type Endpoint, type keySchema, type Used } from "./keys.ts";
import { type Metrics, metrics } from "./metrics.ts";
import { openapi } from "./openapi.ts";
import { withSpans } from "./spans.ts";
import { openServeStore, type ServeStore } from "./store/open-store.ts";

export interface ServeOptions extends Omit<GuardSettings, "keys"> {
  /** API keys; without any there is no authentication. */
  keys?: readonly z.infer<typeof keySchema>[];
  /** Largest body of a request; 20 MB by default. */
  maxBodyBytes?: number;
}

/** A handler, and what its owner needs besides. */
export interface ServedHandler extends Guarded {
  /** Reports not ready from now on; true if readiness was ever asked for, as balancers do. */
  leave(): boolean;
  /** Refuses new requests from now on, because the server stops. */
  stopAccepting(): void;
  /** Waits for work that continues after its request; stops it when the signal aborts. */
  settle?(signal: AbortSignal): Promise<void>;
}

export interface ServedParts {
  counted?: Metrics;
  /** Read for the metrics page. */
  load?: { readonly running: number; readonly waiting: number };
  /** Where callers and repeated requests are counted; in memory by default. */
  store?: () => Promise<ServeStore>;
  callers?: Callers;
  /** The model's name, for metrics. */
  model?: string;
}

const isOpen = (path: string) => path === "/health" || path === "/ready";

function onceOpened(): () => Promise<ServeStore> {
  let opened: Promise<ServeStore> | undefined;
  return () => (opened ??= openServeStore());
}

export function servedHandler(
  endpoints: Readonly<Record<string, Endpoint>>,
  options: ServeOptions,
  { counted = metrics(), load, store = onceOpened(), callers: known, model = "" }: ServedParts = {},
): ServedHandler {
  const { access, maxBodyBytes, onRequest = logFault } = options;
  const again = idempotentReplies(async () => (await store()).replies);
  const { keys, admit, usage } = known ?? callers(options.keys ?? [], async () => (await store()).counts);
  let accepting = true;
  let ready = true;
  let watched = false;
  const table: Record<string, Endpoint> = {
    "GET /health": () => ({ status: "ok" }),
    "GET /ready": ({ reply }) => {
      watched = true;
      replyJson(reply, ready ? 200 : 503, { ready });
    },
    "GET /openapi.json": () => openapi(Object.keys(table), keys.length > 0, isOpen),
    "GET /v1/usage": async ({ caller }) => ({ object: "list", data: await usage(caller.owner) }),
    "GET /version": () => ({ version: packageVersion() }),
    "GET /metrics": ({ reply }) => {
      const gauges = { coa_chains_running: load?.running ?? 0, coa_chains_waiting: load?.waiting ?? 0 };
      reply.send(200, counted.text(gauges), { "content-type": "text/plain; version=0.0.4" });
    },
  };
  for (const [pattern, endpoint] of Object.entries(endpoints))
    table[pattern] = withSpans(pattern, model, pattern.startsWith("POST ") ? again(pattern, endpoint) : endpoint);
  const served = guarded(table, {
    keys,
    access,
    maxBodyBytes,
    async admit(key) {
      const caller = await admit(key);
      const used: Used = { promptTokens: 0, completionTokens: 0, billedTokens: 0, costUsd: 0 };
      const spend: typeof caller.spend = (more) => {
        for (const name of Object.keys(used) as (keyof Used)[]) used[name] += more[name];
        return caller.spend(more);
      };
      return { ...caller, used, spend };
    },
    isOpen,
    errorBody: apiErrorBody,
    accepting: () => accepting,
    onRequest(line) {
      const { route, status, ms, firstMs, queuedMs, caller: key = "", tokens = 0 } = line;
      counted.add("coa_requests_total", { route, status });
      counted.time("coa_request_seconds", { route, model, key }, ms / 1000);
      if (firstMs !== undefined) counted.time("coa_first_event_seconds", { route, model, key }, firstMs / 1000);
      if (queuedMs !== undefined) counted.time("coa_queue_seconds", { route, model, key }, queuedMs / 1000);
      if (tokens > 0) counted.add("coa_key_tokens_total", { key }, tokens);
      onRequest(line);
    },
  });
  return {
    ...served,
    leave() {
      ready = false;
      return watched;
    },
    stopAccepting() {
      ready = accepting = false;
    },
  };
}

const types: Record<number, string> = { 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error" };

/** The error body of OpenAI's APIs. */
function openaiError({ status, message, code, param }: Refusal): Json {
  const own = status === 409 ? "conflict_error" : types[status];
  return { error: { message, type: own ?? (status < 500 ? "invalid_request_error" : "server_error"), param, code } };
}

const anthropicTypes: Record<number, string> = {
  ...types,
  404: "not_found_error",
  413: "request_too_large",
  503: "overloaded_error",
};

function anthropicError({ status, message }: Refusal): Json {
  const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message } };
}

/** Refusals before the Model Context Protocol is spoken, in its own shape. */
function mcpError({ message, status }: Refusal): Json {
  const code = { 400: -32700, 404: -32601 }[status] ?? -32000; // the body can't be read, the method is not there
  return { jsonrpc: "2.0", id: null, error: { code, message } };
}

function apiErrorBody(refusal: Refusal, path: string): Json {
  if (path === "/mcp") return mcpError(refusal);
  return path.startsWith("/v1/messages") ? anthropicError(refusal) : openaiError(refusal);
}
