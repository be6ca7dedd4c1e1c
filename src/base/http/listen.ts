/**
 * A server on a port: the one place that binds, and beyond this machine only with a key. Port 0 takes a free one; `drain`
 * lets what is under way end, `close` breaks it off, and both wait for the work itself, not only for the sockets.
 */
import type { AddressInfo } from "node:net";
import { budgets } from "../../core/budget.ts";
import { CoaError, messageOf } from "../../core/errors.ts";
import { within } from "../work/within.ts";
import { checkReach } from "./access.ts";
import type { Guarded } from "./guard.ts";
import { type Handler, nodeListener } from "./handler.ts";

export interface ListenOptions {
  /** 0, the default, takes a free one. */
  port?: number;
  /** Loopback by default. */
  host?: string;
  /** A client that reads nothing for so long counts as gone; five minutes by default. */
  stallMs?: number;
  /** Called when a client speaks HTTP/2, as gRPC does; it is refused. */
  onHttp2?: () => void;
}

export type Listening = Awaited<ReturnType<typeof listen>>;

/** How long a client gets to read how its answer ended. */
const lastWordsMs = 2000;

/** Starts a server; resolves when it accepts connections. A bare handler answers this machine alone. */
export async function listen(served: Handler | Guarded, options: ListenOptions = {}) {
  const { handler, keyed } = typeof served === "function" ? { handler: served, keyed: false } : served;
  checkReach(options.host, keyed);
  const answer = nodeListener(handler, options.stallMs);
  const pending = new Set<Promise<void>>();
  let draining = false;
  // Loaded here: importing the package should not pay for a web server.
  const { createServer } = await import("node:http");
  // Only the arrival of a request is timed: an answer has no time limit.
  const times = { headersTimeout: 60_000, requestTimeout: budgets.request.ms, keepAliveTimeout: 60_000 };
  const server = createServer(times, (request, response) => {
    if (draining) response.setHeader("connection", "close");
    const work = answer(request, response).finally(() => pending.delete(work));
    pending.add(work);
  });
  const { onHttp2 } = options;
  if (onHttp2) {
    server.on("clientError", (error: Error & { rawPacket?: Buffer }, socket) => {
      if (error.rawPacket?.subarray(0, 5).toString("latin1") === "PRI *") onHttp2();
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      else socket.destroy();
    });
  }
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new CoaError("network", `can't listen: ${messageOf(error)}`, { cause: error })),
    );
    server.listen(options.port ?? 0, options.host ?? "127.0.0.1", 4096, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  const shown = address === "::" || address === "0.0.0.0" ? "127.0.0.1" : address;
  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    await Promise.allSettled(pending);
  }
  return {
    /** `http://127.0.0.1:PORT`. */
    origin: `http://${shown.includes(":") ? `[${shown}]` : shown}:${port}`,
    port,
    pending: (): number => pending.size,
    close,
    /** Takes no new connections and waits until what is under way has ended, or that long; then `late` may end it, and it closes. */
    async drain(maxMs: number, late?: () => void): Promise<void> {
      draining = true;
      server.close();
      server.closeIdleConnections();
      const ended = Promise.allSettled(pending);
      if (!(await within(maxMs, ended))) {
        late?.();
        if (late) await within(lastWordsMs, ended);
      }
      await close();
    },
  };
}

/** The line every server prints when it accepts requests. */
export function readyLine(origin: string): string {
  return `ready ${origin}`;
}
