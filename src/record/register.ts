/**
 * `node --import chain-of-agents/register app.js` records the model calls of an app that knows nothing of it. Settings
 * come from the environment: `COA_RECORD_DIR` (default `.coa/recordings`) and `COA_RUN` (one run id for the process).
 * The app must never notice: whatever goes wrong here is said once on stderr, and the call goes on.
 */
import { join, resolve } from "node:path";
import { syncJsonl } from "../base/files/append-sync.ts";
import { type CallLine, callEncoder } from "../base/files/call-store.ts";
import { logName } from "./call-log.ts";
import { followAiSdk } from "./preload/ai-sdk-channel.ts";
import { type AgentsContext, followOpenAIAgents } from "./preload/openai-agents-spans.ts";
import { runContext, withRun } from "./preload/run-context.ts";
import { wrapFetch } from "./preload/wrap-fetch.ts";
import type { WireExchange } from "./wire-exchange.ts";

export { withRun };

const registered = Symbol.for("chain-of-agents.registered");
const marked = globalThis as unknown as Record<symbol, boolean | undefined>;

if (!marked[registered]) {
  marked[registered] = true;
  await register();
}

async function register(): Promise<void> {
  const home = process.env["COA_HOME"] ?? ".coa";
  const folder = resolve(process.env["COA_RECORD_DIR"] ?? join(home, "recordings"));
  const fixed = process.env["COA_RUN"];
  let warned = false;
  const onProblem = (error: unknown): void => {
    if (!warned) process.stderr.write(`chain-of-agents: recording failed: ${String(error)}\n`);
    warned = true;
  };
  followAiSdk(fixed === undefined ? undefined : () => fixed);
  let agents: AgentsContext | undefined;
  try {
    agents = await followOpenAIAgents(resolve(process.argv[1] ?? "index.js"));
  } catch (error) {
    onProblem(error);
  }
  globalThis.fetch = wrapFetch({
    fetch: globalThis.fetch,
    write: syncLog(folder),
    context() {
      const own = runContext.getStore();
      const told = own?.agent ? undefined : agents?.();
      const runId = fixed ?? own?.runId ?? told?.runId;
      const agent = own?.agent ?? told?.agent;
      return { ...(runId !== undefined && { runId }), ...(agent && { agent }) };
    },
    onProblem,
  });
}

/** Writes each record before going on; the file is opened with the first one. */
function syncLog(folder: string): (exchange: WireExchange) => void {
  const encoder = callEncoder();
  let log: ReturnType<typeof syncJsonl<CallLine>> | undefined;
  return (exchange) => {
    log ??= syncJsonl<CallLine>(join(folder, logName("calls")));
    const lines = encoder.linesOf(exchange);
    log.appendAll(lines);
    encoder.written(lines);
  };
}
