/** Which run the code that is running now belongs to, followed through every await. */
import { AsyncLocalStorage } from "node:async_hooks";

/** One storage for the whole process, however often this module is loaded. */
const key = Symbol.for("chain-of-agents.run-context");
const holder = globalThis as unknown as Record<symbol, AsyncLocalStorage<string> | undefined>;

export const runContext: AsyncLocalStorage<string> = (holder[key] ??= new AsyncLocalStorage<string>());

/** Runs code as one recorded run with an id of the caller's choice. */
export function withRun<T>(runId: string, work: () => T): T {
  return runContext.run(runId, work);
}
