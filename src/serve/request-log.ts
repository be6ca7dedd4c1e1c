/** One line of JSON for each request, for the tools that collect logs: by its id everything that is known of it is found. */
import type { RequestLine } from "../base/http/guard.ts";
import { redactText } from "../base/redact/redact-text.ts";
import { messageOf } from "../core/errors.ts";

/** From the least to the most that is told: faults of the server, what was refused, everything. */
const logLevels = ["error", "warn", "info"] as const;

/** Writes lines up to a level; secrets in what an error says are removed. */
export function requestLog(
  most: (typeof logLevels)[number],
  write: (line: string) => void,
): (line: RequestLine) => void {
  return ({ id, method, route, path, status, ms, firstMs, caller, chain, tokens, error }) => {
    const level = status >= 500 || error !== undefined ? "error" : status >= 400 ? "warn" : "info";
    if (logLevels.indexOf(level) > logLevels.indexOf(most)) return;
    const said = error === undefined ? undefined : redactText(messageOf((error as Error).cause ?? error));
    const known = { time: new Date().toISOString(), level, request: id, method, path: route || path, status };
    const times = { ms: Math.round(ms), first_ms: firstMs && Math.round(firstMs) };
    write(JSON.stringify({ ...known, ...times, key: caller, chain, tokens, error: said }));
  };
}
