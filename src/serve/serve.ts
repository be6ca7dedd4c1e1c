/**
 * A served handler on a port. A server that others can reach needs a key; without one it listens on this machine only.
 * When asked to stop it says that it is not ready while it still takes requests, so that balancers find out; then it takes no
 * more, lets what is under way end within a time, tells the rest that it stops, and closes.
 */

import type { RequestLine } from "../base/http/guard.ts";
import { listen } from "../base/http/listen.ts";
import { Refusal } from "../base/http/refusal.ts";
import { redactText } from "../base/redact/redact-text.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { sleep } from "../base/work/limiter.ts";
import { messageOf } from "../core/errors.ts";
import type { ServedHandler } from "./served-handler.ts";

const stopping = new Refusal(503, "the server is stopping", {
  code: "server_stopping",
  headers: { "retry-after": "5" },
});

/** Puts a handler on a port, a free one by default; resolves when it accepts requests. */
export async function serve(
  served: ServedHandler,
  options: { port?: number; host?: string } = {},
): Promise<{ origin: string; port: number; pending(): number; stop(maxMs: number, graceMs?: number): Promise<void> }> {
  checkOptions("serve", options);
  const listening = await listen(served, options);
  return {
    origin: listening.origin,
    port: listening.port,
    pending: listening.pending,
    async stop(maxMs, graceMs = 0) {
      if (served.leave() && graceMs > 0) await sleep(graceMs);
      served.stopAccepting();
      const late = AbortSignal.timeout(maxMs);
      await listening.drain(maxMs, () => served.stop(stopping));
      await served.settle?.(late);
    },
  };
}

/** From the least to the most that is told: faults of the server, what was refused, everything. */
const logLevels = ["error", "warn", "info"] as const;

/** Writes lines up to a level; secrets in what an error says are removed. */
export function requestLog(
  most: (typeof logLevels)[number],
  write: (line: string) => void,
): (line: RequestLine) => void {
  return ({ id, method, route, path, status, ms, firstMs, queuedMs, caller, chain, tokens, error }) => {
    const level = status >= 500 || error !== undefined ? "error" : status >= 400 ? "warn" : "info";
    if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
    const said = error === undefined ? undefined : redactText(messageOf((error as Error).cause ?? error));
    const known = { time: new Date().toISOString(), level, request: id, method, path: route || path, status };
    const times = {
      ms: Math.round(ms),
      first_ms: firstMs && Math.round(firstMs),
      queue_ms: queuedMs && Math.round(queuedMs),
    };
    write(JSON.stringify({ ...known, ...times, key: caller, chain, tokens, error: said }));
  };
}
