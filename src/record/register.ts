/**
 * `node --import chain-of-agents/register app.js` records the model calls of an app that knows nothing of it. Settings
 * come from the environment: `COA_RECORD_DIR` (default `.coa/recordings`), `COA_RUN` (one run id for the process) and
 * `COA_BUDGET` (limits as JSON, for this process). The app must not be affected: an error here is reported once on
 * stderr, and the call continues.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join, resolve } from "node:path";
import { syncJsonl } from "../base/files/append-sync.ts";
import { type CallLine, callEncoder } from "../base/files/call-store.ts";
import { parseJson } from "../core/json-value.ts";
import { printable } from "../core/printable.ts";
import { type BudgetOptions, budgetOptionsSchema, createBudget } from "./budget.ts";
import { logName } from "./call-log.ts";
import type { RecorderOptions } from "./preload/exchange-recorder.ts";
import { followCauses } from "./preload/follow-causes.ts";
import { followRequests } from "./preload/follow-requests.ts";
import { followUndici, markedFetch } from "./preload/follow-undici.ts";
import { runContext, withRun } from "./preload/run-context.ts";
import { wrapFetch } from "./preload/wrap-fetch.ts";
import { wrapHttp } from "./preload/wrap-http.ts";
import { type Unrecorded, unrecordedCounter, unrecordedText } from "./unrecorded.ts";
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
    const budgetSaid = typeof error === "string";
    if (budgetSaid || !warned) {
      process.stderr.write(`chain-of-agents: ${budgetSaid ? "" : "recording failed: "}${printable(String(error))}\n`);
    }
    warned ||= !budgetSaid;
  };
  const missed = unrecordedCounter();
  const limits = process.env["COA_BUDGET"];
  // A budget that can't be read must not let the app spend without one.
  const budget = limits ? createBudget(readBudget(limits)) : undefined;
  const options: RecorderOptions = {
    write: syncLog(folder),
    runOf: () => fixed ?? runContext.getStore(),
    ...(budget && { budget }),
    onProblem,
    onUnrecorded: (what) => missed.add(what),
  };
  followCauses();
  followRequests();
  globalThis.fetch = wrapFetch({ ...options, fetch: markedFetch(globalThis.fetch) });
  wrapHttp(options);
  followUndici(options);
  countHttp2((what) => missed.add(what));
  countWebSockets((what) => missed.add(what));
  process.on("exit", () => {
    sayUnrecorded(folder, missed.list("preload"));
    if (!budget) return;
    const { calls, tokens, usd } = budget.spent();
    process.stderr.write(`chain-of-agents: spent ${calls} calls, ${tokens} tokens, $${usd.toFixed(6)}\n`);
  });
}

function readBudget(text: string): BudgetOptions {
  const read = budgetOptionsSchema.safeParse(parseJson(text));
  if (read.success) return read.data;
  throw new Error(`COA_BUDGET is not a budget: ${text}. Example: {"total":{"calls":50,"tokens":200000}}`);
}

/** gRPC and other users of HTTP/2 are not recorded: each connection is counted by its host. */
function countHttp2(count: (what: string) => void): void {
  const http2 = process.getBuiltinModule("node:http2");
  const connect = http2.connect as (...args: unknown[]) => ReturnType<typeof http2.connect>;
  http2.connect = ((...args: unknown[]) => {
    count(`http2 ${URL.parse(String(args[0]))?.host ?? String(args[0])}`);
    return connect(...args);
  }) as typeof http2.connect;
  syncBuiltinESMExports();
}

/** WebSockets are not recorded either. */
function countWebSockets(count: (what: string) => void): void {
  if (typeof globalThis.WebSocket !== "function") return;
  globalThis.WebSocket = new Proxy(globalThis.WebSocket, {
    construct(target, args: [string | URL], newTarget) {
      count(`websocket ${URL.parse(String(args[0]))?.host ?? String(args[0])}`);
      return Reflect.construct(target, args, newTarget) as WebSocket;
    },
  });
}

/** The last line of a recorded process: what it did that no record shows. */
function sayUnrecorded(folder: string, counts: readonly Unrecorded[]): void {
  if (counts.length === 0) return;
  process.stderr.write(`chain-of-agents: ${printable(unrecordedText(counts))}\n`);
  try {
    mkdirSync(folder, { recursive: true });
    const lines = counts.map((one) => `${JSON.stringify(one)}\n`);
    writeFileSync(join(folder, logName("unrecorded")), lines.join(""), { mode: 0o600 });
  } catch {} // it was said above
}

/** Writes each record before it continues; the file is opened with the first one. */
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
