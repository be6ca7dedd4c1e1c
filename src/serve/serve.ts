/**
 * A served handler on a port. A server that others can reach needs a key; without one it listens on this machine only.
 * When asked to stop it takes no new requests, lets what is under way end within a time, and closes.
 */

import { type Listening, listen } from "../base/http/listen.ts";
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import type { ServedHandler } from "./served-handler.ts";

export interface PortOptions {
  /** 0 takes a free one. */
  port?: number;
  host?: string;
}

const serveNames = optionNames<PortOptions>()("port host");

/** Puts a handler on a port; resolves when it accepts requests. */
export async function serve(
  served: ServedHandler,
  options: PortOptions = {},
): Promise<Pick<Listening, "origin" | "port" | "pending"> & { stop(maxMs: number): Promise<void> }> {
  checkOptions("serve", options, serveNames);
  const listening = await listen(served, options);
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
