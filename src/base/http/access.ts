/**
 * Who may send requests. A server on loopback is reached by every page in the user's browser: a foreign `Origin` or a
 * `Host` that is not this machine's (DNS rebinding) is refused unless allowed by name. Keys are compared in constant
 * time.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { UsageError } from "../../core/errors.ts";
import { Refusal } from "./refusal.ts";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface AccessOptions {
  /** Origins of web pages that may ask (`https://app.example`), besides this server's own. */
  origins?: readonly string[];
  /** Names under which this server may be asked, besides loopback's; `*` for a server that others reach by any name. */
  hosts?: readonly string[];
}

/** Whether an address to listen on is reached from this machine only. */
export function isLoopback(host = "127.0.0.1"): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

/** Refuses to be reached from outside without a key. `flag` is the command line's word for it. */
export function checkReach(host: string | undefined, hasKey: boolean, flag = "api-key-file"): void {
  if (isLoopback(host) || hasKey) return;
  throw new UsageError(`a server on ${host} can be used by everyone who reaches it: give it a key first`, {
    hint: { option: "keys", flag },
    code: "open-to-all",
  });
}

/** The rule for a server bound to `host`: beyond loopback its names are not known, so any is taken. */
export function accessOf(host: string | undefined, options: AccessOptions = {}): AccessOptions {
  return isLoopback(host) ? options : { hosts: ["*"], ...options };
}

/** Refuses a request from a web page of another site, or under a name that is not this machine's. */
export function checkOrigin(header: (name: string) => string | undefined, options: AccessOptions = {}): void {
  const host = header("host") ?? "";
  const name = host.replace(/:\d+$/, "").toLowerCase();
  const hosts = options.hosts ?? [];
  if (!loopbackNames.has(name) && !hosts.includes("*") && !hosts.includes(name) && !hosts.includes(host)) {
    throw new Refusal(403, `this server is not known as "${host}": its owner can allow the name (server.publicHosts)`);
  }
  const origin = header("origin");
  if (origin === undefined || options.origins?.includes(origin) || options.origins?.includes("*")) return;
  if (URL.parse(origin)?.host !== host) throw new Refusal(403, `pages of ${origin} may not use this server`);
}

/** Headers for a web page that was allowed by name. */
export function corsHeaders(
  header: (name: string) => string | undefined,
  { origins = [] }: AccessOptions,
): Record<string, string> | undefined {
  const origin = header("origin");
  if (origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return undefined;
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "x-request-id, retry-after, x-coa-trajectory, x-ratelimit-remaining-requests",
    vary: "origin",
  };
}

/** What the browser of an allowed page is told before it sends its request. */
export function preflightHeaders(header: (name: string) => string | undefined): Record<string, string> {
  return {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": header("access-control-request-headers") ?? "content-type",
    "access-control-max-age": "600",
  };
}

/** The key a request brings: `Authorization: Bearer` or `x-api-key`. */
export function keyOf(header: (name: string) => string | undefined): string | undefined {
  const bearer = /^Bearer\s+(.+)$/i.exec(header("authorization") ?? "")?.[1];
  return bearer?.trim() ?? header("x-api-key");
}

/** Finds the entry of a key; the time it takes says nothing about the keys. */
export function keyFinder<Entry extends { key: string }>(
  entries: readonly Entry[],
): (key: string) => Entry | undefined {
  const digests = entries.map((entry) => digest(entry.key));
  return (key) => {
    const wanted = digest(key);
    let found: Entry | undefined;
    for (const [index, one] of digests.entries()) if (timingSafeEqual(one, wanted)) found = entries[index];
    return found;
  };
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
