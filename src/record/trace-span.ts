/**
 * A span of any tracing system, reduced to what a team run needs: an agent, a model call, a tool call, a hand-over, or
 * something in between that only carries the tree. Each trace format maps its spans to this.
 */
import type { ToolDefinition } from "../base/wire/wire-api.ts";
import { asString, asText, defined } from "../core/json-value.ts";
import type { RecordedCall } from "./recorded-call.ts";

export interface TraceSpan {
  id: string;
  parentId?: string;
  traceId: string;
  name: string;
  kind: "agent" | "model" | "tool" | "handoff" | "other";
  startedAt: number;
  endedAt?: number;
  agent?: { name?: string; instructions?: string; tools?: ToolDefinition[]; report?: string };
  call?: Partial<Omit<RecordedCall, "id" | "runId" | "agent" | "startedAt" | "endedAt">> & {
    /** The format names earlier messages without their text, so the history is put together again from the steps. */
    lossyHistory?: boolean;
  };
  tool?: { callId?: string; name: string; arguments?: string; result?: string };
  handoff?: { to: string };
  error?: string;
  /** The conversation that its trace is a turn of. */
  session?: string;
  /** Scores that people or checks gave it. */
  feedback?: { name: string; score: number }[];
  /** Why some of its text is missing, where it is. */
  cut?: string;
}

/** A span as every format has it, its kind not known yet; what is undefined is left out. */
export function plainSpan(
  known: Pick<TraceSpan, "id" | "traceId" | "name"> & Partial<Record<keyof TraceSpan, unknown>>,
): TraceSpan {
  const { parentId, session } = known;
  const given = { ...known, parentId: parentId || undefined, session: asString(session) || undefined };
  return { kind: "other", startedAt: 0, ...(defined(given) as typeof known) } as TraceSpan;
}

/** A tool call as a span tells of it; what it does not tell is left out. */
export function toolOf(
  name: unknown,
  callId: unknown,
  input: unknown,
  result: unknown,
): NonNullable<TraceSpan["tool"]> {
  const text = (value: unknown) => (value === undefined || value === null ? undefined : asText(value));
  const told = { callId: asString(callId) || undefined, arguments: text(input), result: text(result) };
  return { name: asText(name), ...defined(told) };
}

const maxAncestors = 2000;

/** Throws no error and never loops: the chain of ancestors, nearest first, cut where it repeats or becomes too long. */
export function ancestors(span: TraceSpan, byId: ReadonlyMap<string, TraceSpan>): TraceSpan[] {
  const chain: TraceSpan[] = [];
  const seen = new Set([span.id]);
  for (let id = span.parentId; id !== undefined && !seen.has(id) && chain.length < maxAncestors; ) {
    seen.add(id);
    const above = byId.get(id);
    if (!above) break;
    chain.push(above);
    id = above.parentId;
  }
  return chain;
}

/** The id of a span that is its own ancestor, if there is one. */
export function findCycle(spans: readonly { id: string; parentId?: string }[]): string | undefined {
  const parents = new Map(spans.map((span) => [span.id, span.parentId]));
  const safe = new Set<string>();
  for (const { id } of spans) {
    const path = new Set<string>();
    let at: string | undefined = id;
    while (at !== undefined && parents.has(at) && !safe.has(at)) {
      if (path.has(at)) return at;
      path.add(at);
      at = parents.get(at);
    }
    for (const one of path) safe.add(one);
  }
  return undefined;
}
