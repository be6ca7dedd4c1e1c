/**
 * A served handler on a port. A server that others can reach needs a key; without one it listens on this machine only.
 * When asked to stop it takes no new requests, lets what is under way end within a time, and closes.
 */

import { isLoopback } from "../base/http/access.ts";
import { nodeListener } from "../base/http/handler.ts";
import { type Listening, listen } from "../base/http/listen.ts";
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import { UsageError } from "../core/errors.ts";
import type { ServedHandler, ServeOptions } from "./chain-handler.ts";

export interface PortOptions extends Pick<ServeOptions, "keys"> {
  /** 0 takes a free one. */
  port?: number;
  host?: string;
}

/** Refuses to be reached from outside without a key. */
function checkReach({ host, keys = [] }: PortOptions): void {
  if (isLoopback(host) || keys.length > 0) return;
  throw new UsageError(`a server on ${host} can be used by everybody who reaches it; give it keys first`, {
    hint: { option: "keys", flag: "api-key-file", value: "<file>" },
    code: "open-to-all",
  });
}

const serveNames = optionNames<PortOptions>()("keys port host");

/** Puts a handler on a port; resolves when it accepts requests. */
export async function serve(
  served: ServedHandler,
  options: PortOptions = {},
): Promise<Pick<Listening, "origin" | "port" | "pending"> & { stop(maxMs: number): Promise<void> }> {
  checkOptions("serve", options, serveNames);
  checkReach(options);
  const listening = await listen(nodeListener(served.handler), options);
  return {
    origin: listening.origin,
    port: listening.port,
    pending: listening.pending,
    async stop(maxMs) {
      served.stopAccepting();
      const late = AbortSignal.timeout(maxMs);
      await listening.drain(maxMs);
      await served.settle?.(late);
    },
  };
}
