/**
 * The only place where a crawl opens a socket. Each connection is checked where it is made: a literal address directly,
 * a name by every address it resolves to, and the socket connects to exactly the addresses that were checked, so a name
 * that resolves differently a moment later changes nothing.
 */
import { lookup as dnsLookup } from "node:dns/promises";
import { createRequire } from "node:module";
import type { LookupFunction } from "node:net";
import type { Agent, buildConnector } from "undici";
import { CoaError, messageOf } from "../../core/errors.ts";
import { type HostPolicy, hostRefusal, isAllowedHost, isPublicAddress } from "./host-policy.ts";

/** A crawl was asked to go where it may not. */
export class BlockedAddressError extends CoaError {
  override readonly name = "BlockedAddressError";
  constructor(message: string) {
    super("network", `${message}; allow it with allowHosts if it is yours`);
  }
}

export interface ResolvedAddress {
  address: string;
  family: number;
}

export interface GuardedAgentOptions extends HostPolicy {
  connectTimeoutMs?: number;
  /** Connections kept per host. */
  connections?: number;
  /** How names become addresses; the system's resolver by default. */
  resolve?: (hostname: string) => Promise<{ address: string; family: number }[]>;
  /** Which resolved addresses may be reached; public ones by default. */
  isAllowedAddress?: (address: string) => boolean;
}

/** An undici agent that reaches public hosts, and private ones only where the policy allows them. */
export function guardedAgent(options: GuardedAgentOptions = {}): Agent {
  const { connectTimeoutMs = 10_000, connections = 8 } = options;
  // Loaded at the first crawl: the library is half of what importing this package would take.
  const { Agent, buildConnector } = createRequire(import.meta.url)("undici") as typeof import("undici");
  const resolve = options.resolve ?? ((hostname) => dnsLookup(hostname, { all: true, verbatim: true }));
  const isAllowedAddress = options.isAllowedAddress ?? isPublicAddress;
  const guarded = buildConnector({ timeout: connectTimeoutMs, lookup: checkingLookup(resolve, isAllowedAddress) });
  const open = buildConnector({ timeout: connectTimeoutMs, lookup: checkingLookup(resolve, () => true) });
  const connect: buildConnector.connector = (target, callback) => {
    const port = target.port || (target.protocol === "https:" ? "443" : "80");
    if (isAllowedHost(options, target.hostname, port)) {
      open(target, callback);
      return;
    }
    const refusal = hostRefusal(options, target.hostname, port);
    if (refusal) callback(new BlockedAddressError(refusal), null);
    else guarded(target, callback);
  };
  return new Agent({ connect, connections, keepAliveTimeout: 10_000, pipelining: 1 });
}

/** A resolver for sockets that refuses a name when any of its addresses may not be reached. */
function checkingLookup(
  resolve: (hostname: string) => Promise<ResolvedAddress[]>,
  isAllowedAddress: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const bad = addresses.find(({ address }) => !isAllowedAddress(address));
        const first = addresses[0];
        if (bad)
          callback(new BlockedAddressError(`${hostname} resolves to ${bad.address}, not a public address`), "", 0);
        else if (!first) callback(new Error(`${hostname} has no address`), "", 0);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error) => callback(new Error(`could not resolve ${hostname}: ${messageOf(error)}`), "", 0),
    );
  };
}
