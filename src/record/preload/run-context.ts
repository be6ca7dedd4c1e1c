/** Which run and which agent the code that is running now belongs to, followed through every await. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { AgentHint } from "../recorded-call.ts";

export interface RunContext {
  runId: string;
  agent?: AgentHint;
  /** The tool call whose code is running: an agent started now was started by it. */
  tool?: { callId: string; name: string };
}

/** One storage for the whole process, however often this module is loaded. */
const key = Symbol.for("chain-of-agents.run-context");
const holder = globalThis as unknown as Record<symbol, AsyncLocalStorage<RunContext> | undefined>;

export const runContext: AsyncLocalStorage<RunContext> = (holder[key] ??= new AsyncLocalStorage<RunContext>());

/** Runs code as one recorded run with an id of the caller's choice. */
export function withRun<T>(runId: string, work: () => T): T {
  return runContext.run({ runId }, work);
}
