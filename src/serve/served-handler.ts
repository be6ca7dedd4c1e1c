/**
 * What the servers for apps and trainers share: keys with quotas, health, readiness and metrics, answers that are given
 * again under one idempotency key, and the end of accepting. The rest is the guard's.
 */
import { type Guarded, type GuardSettings, guarded, logFault } from "../base/http/guard.ts";
import { apiErrorBody } from "./api-error.ts";
import type { Endpoint } from "./endpoint.ts";
import { idempotentReplies } from "./idempotent-replies.ts";
import { admission, type ServeKey } from "./keys.ts";
import { type Metrics, metrics } from "./metrics.ts";

export interface ServeOptions extends Omit<GuardSettings, "keys"> {
  /** API keys; without any there is no authentication. */
  keys?: readonly ServeKey[];
  /** Largest body of a request; 20 MB by default. */
  maxBodyBytes?: number;
}

/** A handler, and what its owner needs besides. */
export interface ServedHandler extends Guarded {
  /** Refuses new requests from now on, because the server stops. */
  stopAccepting(): void;
  /** Waits for work that continues after its request; stops it when the signal aborts. */
  settle?(signal: AbortSignal): Promise<void>;
}

/** Puts endpoints behind the guard. `load` is read for the metrics page. */
export function servedHandler(
  endpoints: Readonly<Record<string, Endpoint>>,
  options: ServeOptions,
  {
    counted = metrics(),
    load,
  }: { counted?: Metrics; load?: { readonly running: number; readonly waiting: number } } = {},
): ServedHandler {
  const { keys = [], access, maxBodyBytes, onRequest = logFault } = options;
  const again = idempotentReplies();
  let accepting = true;
  const table: Record<string, Endpoint> = {
    "GET /health": () => ({ status: "ok" }),
    "GET /ready": ({ reply }) =>
      reply.send(accepting ? 200 : 503, JSON.stringify({ ready: accepting }), { "content-type": "application/json" }),
    "GET /metrics": ({ reply }) => {
      const gauges = { coa_chains_running: load?.running ?? 0, coa_chains_waiting: load?.waiting ?? 0 };
      reply.send(200, counted.text(gauges), { "content-type": "text/plain; version=0.0.4" });
    },
  };
  for (const [pattern, endpoint] of Object.entries(endpoints))
    table[pattern] = pattern.startsWith("POST ") ? again(pattern, endpoint) : endpoint;
  const served = guarded(table, {
    keys,
    access,
    maxBodyBytes,
    admit: admission(keys),
    isOpen: (path) => path === "/health" || path === "/ready",
    errorBody: apiErrorBody,
    accepting: () => accepting,
    onRequest(line) {
      const { route, status, ms } = line;
      counted.add("coa_requests_total", { route, status });
      counted.add("coa_request_seconds_total", { route }, ms / 1000);
      onRequest(line);
    },
  });
  return {
    ...served,
    stopAccepting() {
      accepting = false;
    },
  };
}
