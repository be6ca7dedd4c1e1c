/** Which incoming HTTP request the running code serves: all that it does for one request is one run. */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";

/** One storage for the whole process, however often this module is loaded. */
const key = Symbol.for("chain-of-agents.request");
const holder = globalThis as unknown as Record<symbol, AsyncLocalStorage<string> | undefined>;
const storage = (holder[key] ??= new AsyncLocalStorage<string>());

/** The request that is being served, by an id of its own. */
export function currentRequest(): string | undefined {
  return storage.getStore();
}

/** Starts following; Node announces a request in the context in which its handler runs. */
export function followRequests(): void {
  subscribe("http.server.request.start", () => storage.enterWith(randomUUID()));
}
