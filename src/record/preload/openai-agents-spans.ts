/**
 * Follows the OpenAI Agents SDK where the app has it installed: a processor keeps the spans that are open, and at each
 * fetch the current span says which agent is calling, which tool call started it, or who handed over to it.
 */
import { readFileSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { asObject, asString } from "../../core/json-value.ts";
import type { AgentHint } from "../recorded-call.ts";

interface Span {
  spanId: string;
  traceId: string;
  parentId: string | null;
  spanData: { type: string } & Record<string, unknown>;
}

interface AgentsModule {
  addTraceProcessor(processor: object): void;
  getGlobalTraceProvider?(): { setProcessors(processors: object[]): void };
  getCurrentSpan(): Span | null;
  getCurrentTrace(): { traceId: string } | null;
}

/** What the SDK knows of the call being made. */
export type AgentsContext = () => { runId: string; agent?: AgentHint } | undefined;

/** Registers with the SDK that the app at `entry` would load; undefined where there is none. */
export async function followOpenAIAgents(entry: string): Promise<AgentsContext | undefined> {
  const url = findModule(entry);
  if (!url) return undefined;
  const sdk = (await import(url)) as AgentsModule;
  if (typeof sdk.addTraceProcessor !== "function" || typeof sdk.getCurrentSpan !== "function") return undefined;
  const open = new Map<string, Map<string, Span>>();
  const processor = {
    async onTraceStart(trace: { traceId: string }) {
      open.set(trace.traceId, new Map());
    },
    async onTraceEnd(trace: { traceId: string }) {
      open.delete(trace.traceId);
    },
    async onSpanStart(span: Span) {
      const spans = open.get(span.traceId) ?? new Map<string, Span>();
      spans.set(span.spanId, span);
      open.set(span.traceId, spans);
    },
    async onSpanEnd() {},
    async shutdown() {},
    async forceFlush() {},
  };
  sdk.addTraceProcessor(processor);
  // The SDK's own start-up, and apps, replace the list of processors; ours stays at its head.
  const provider = sdk.getGlobalTraceProvider?.();
  const replace = provider?.setProcessors.bind(provider);
  if (provider && replace) provider.setProcessors = (processors) => replace([processor, ...processors]);
  return () => {
    const span = sdk.getCurrentSpan();
    const traceId = span?.traceId ?? sdk.getCurrentTrace()?.traceId;
    if (!traceId || traceId === "no-op") return undefined;
    const agent = span ? agentOf(span, open.get(traceId) ?? new Map()) : undefined;
    return { runId: traceId, ...(agent && { agent }) };
  };
}

function agentOf(span: Span, spans: ReadonlyMap<string, Span>): AgentHint | undefined {
  const chain = [span];
  for (let at = span; at.parentId && chain.length < 1000; ) {
    const above = spans.get(at.parentId);
    if (!above) break;
    chain.push(above);
    at = above;
  }
  const index = chain.findIndex((one) => one.spanData.type === "agent");
  const agent = chain[index];
  if (!agent) return undefined;
  const above = chain.slice(index + 1);
  const called = above.find((one) => one.spanData.type === "function");
  const caller = called && above.slice(above.indexOf(called)).find((one) => one.spanData.type === "agent");
  const name = asString(agent.spanData["name"]);
  const hint: AgentHint = { id: agent.spanId, ...(name && { name }) };
  if (called && caller) {
    const input = asString(called.spanData["input"]);
    const tool = asString(called.spanData["name"]);
    return {
      ...hint,
      parent: { agentId: caller.spanId, ...(tool && { name: tool }), ...(input && { arguments: input }) },
    };
  }
  const handed = [...spans.values()].findLast(
    (one) => one.spanData.type === "handoff" && one.spanData["to_agent"] === name && before(one, agent, spans),
  );
  const from = handed && ancestorAgent(handed, spans);
  return from && from !== agent ? { ...hint, handoffFrom: from.spanId } : hint;
}

/** Spans are in the map in the order in which they started. */
function before(a: Span, b: Span, spans: ReadonlyMap<string, Span>): boolean {
  const order = [...spans.keys()];
  return order.indexOf(a.spanId) < order.indexOf(b.spanId);
}

function ancestorAgent(span: Span, spans: ReadonlyMap<string, Span>): Span | undefined {
  for (let at: Span | undefined = span, hops = 0; at && hops < 1000; hops++) {
    if (at.spanData.type === "agent") return at;
    at = at.parentId ? spans.get(at.parentId) : undefined;
  }
  return undefined;
}

/** The file that `import "@openai/agents-core"` would load in the app; loading the same file gives the same instance. */
function findModule(entry: string): string | undefined {
  for (const [name, from] of [
    ["@openai/agents-core", entry],
    ["@openai/agents", entry],
  ] as const) {
    const found = locate(name, from);
    if (!found) continue;
    const manifest = name === "@openai/agents-core" ? found : locate("@openai/agents-core", found);
    if (!manifest) continue;
    const exported = asObject(asObject(asObject(JSON.parse(readFileSync(manifest, "utf8")))?.["exports"])?.["."]);
    const file = asString(exported?.["import"]) ?? asString(asObject(exported?.["import"])?.["default"]);
    if (file) return pathToFileURL(realpathSync(join(dirname(manifest), file))).href;
  }
  return undefined;
}

function locate(name: string, from: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(from));
  } catch {
    return undefined;
  }
}
