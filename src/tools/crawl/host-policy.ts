/**
 * Which hosts may be reached. By default only the public internet; the user may allow a private host by name, with or
 * without a port, and may block hosts, domains or single pages.
 */
import { BlockList, isIP } from "node:net";

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
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const refusal = hostRefusal(policy, url.hostname, port);
  if (refusal) return { refusal };
  url.username = "";
  url.password = "";
  url.hash = "";
  return { url };
}

function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}

/** IPv4 ranges that are not public; the last two are what clouds use for metadata and agents inside a machine. */
const privateRanges =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
  "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 " +
  "168.63.129.16/32 100.100.100.200/32";

const notPublic = new BlockList();
for (const range of privateRanges.split(" ")) {
  const [first = "", bits] = range.split("/");
  const [a = 0, b = 0, c = 0, d = 0] = first.split(".").map(Number);
  notPublic.addSubnet(first, Number(bits), "ipv4");
  // The same behind NAT64 and 6to4, where the IPv4 address inside is what is reached.
  notPublic.addSubnet(`64:ff9b::${first}`, 96 + Number(bits), "ipv6");
  notPublic.addSubnet(`2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`, 16 + Number(bits), "ipv6");
}
notPublic.addSubnet("2001::", 23, "ipv6"); // Teredo, benchmarking, ORCHID
notPublic.addSubnet("2001:db8::", 32, "ipv6"); // documentation
notPublic.addSubnet("3fff::", 20, "ipv6"); // documentation

// Mapped (::ffff:a.b.c.d), unique local, link-local and multicast addresses lie outside what is handed out.
const handedOut = new BlockList();
handedOut.addSubnet("2000::", 3, "ipv6");
handedOut.addSubnet("64:ff9b::", 96, "ipv6");

/**
 * Which IP addresses belong to the public internet. Everything that is not plainly public is refused: private,
 * loopback, link-local (cloud metadata services are there), shared, reserved, documentation and multicast ranges, and
 * IPv6 forms that carry such an IPv4 address inside.
 */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "");
  const version = isIP(plain);
  if (version === 4) return !notPublic.check(plain, "ipv4");
  // A zone ("fe80::1%eth0") only exists on local links.
  if (version !== 6 || plain.includes("%")) return false;
  return handedOut.check(plain, "ipv6") && !notPublic.check(plain, "ipv6");
}
