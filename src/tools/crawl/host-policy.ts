/**
 * Which hosts may be reached. By default only the public internet; the user may allow a private host by name, with or
 * without a port, and may block hosts, domains or single pages.
 */
import { isIP } from "node:net";
import { isPublicAddress } from "./public-address.ts";

export interface HostPolicy {
  /** `host` or `host:port` that may be reached although it is private: `127.0.0.1:8080`, `intranet.example`. */
  allowHosts?: readonly string[];
}

/** Names that never mean a public host, whatever a resolver says. */
const privateNames =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa|test|invalid|onion)$/;

/** Whether the user allowed this host by name. */
export function isAllowedHost(policy: HostPolicy, hostname: string, port: string): boolean {
  const host = bareHost(hostname);
  return (policy.allowHosts ?? []).some((allowed) => {
    const parsed = URL.parse(`http://${allowed}`);
    if (!parsed || bareHost(parsed.hostname) !== host) return false;
    // URL drops ":80" as the default, so the port is read from what was written.
    const written = /:(\d+)$/.exec(allowed.replace(/\[.*\]/, ""))?.[1];
    return written === undefined || written === port;
  });
}

/** Why a host may not be reached, by its name or literal address alone; undefined where it may. */
export function hostRefusal(policy: HostPolicy, hostname: string, port: string): string | undefined {
  if (isAllowedHost(policy, hostname, port)) return undefined;
  const host = bareHost(hostname);
  if (host === "") return "the address has no host";
  if (isIP(host) !== 0) return isPublicAddress(host) ? undefined : `${host} is not a public address`;
  if (privateNames.test(host)) return `${host} names a private host`;
  if (!host.includes(".")) return `${host} is not a public host name`;
  return undefined;
}

/** Reads a URL and says why it may not be fetched, or gives it back parsed. */
export function checkUrl(policy: HostPolicy, text: string): { url: URL } | { refusal: string } {
  const url = URL.parse(text.trim());
  if (!url) return { refusal: `not an address: ${text.slice(0, 200)}` };
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return { refusal: `only http and https can be read, not ${url.protocol}` };
  const refusal = hostRefusal(policy, url.hostname, portOf(url));
  if (refusal) return { refusal };
  url.username = "";
  url.password = "";
  url.hash = "";
  return { url };
}

/** The port a URL means. */
function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}
