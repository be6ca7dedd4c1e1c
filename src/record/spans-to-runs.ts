/**
 * Builds team runs from spans: the tree says who called whom, the model spans say what was said. Where the model calls
 * were recorded too, they replace the spans' content (matched by response id, then by tool-call id), because recorded
 * calls are exact and spans are often shortened.
 */
import { defined } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { TeamAgent, TeamRun, TeamToolCall } from "../core/team-run.ts";
import { nameFromCall, toldName } from "./agent-name.ts";
import { assembleRun, type CallParts } from "./assemble-run.ts";
import { argumentsKey, type Thread } from "./call-threads.ts";
import { callGroups, callsToRuns, type RunGroup } from "./calls-to-runs.ts";
import { passagesOf, quoteIndex } from "./quotes.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { isSide, runFlow } from "./run-flow.ts";
import { ancestors, type TraceSpan } from "./trace-span.ts";

/** The runs of each trace, with the wire calls that its spans took their content from; those are removed from `wire`. */
export function traceGroups(
  spans: readonly TraceSpan[],
  source: string,
  wire = new Set<RecordedCall>(),
): (RunGroup & { traceId: string; bare: boolean })[] {
  const traces = new Map<string, TraceSpan[]>();
  for (const span of spans) {
    addTo(traces, span.traceId, span);
  }
  const find = wireIndex(wire, new Set(spans.flatMap(({ call }) => (call ? keysOf(call) : []))));
  const groups = [...traces].map(([traceId, own]) => {
    const calls: RecordedCall[] = [];
    const runs = traceToRuns(traceId, own, source, find, (call) => {
      wire.delete(call);
      calls.push(call);
    });
    const feedback = own.flatMap((span) => span.feedback ?? []);
    const session = own.find((span) => span.session !== undefined)?.session;
    return {
      traceId,
      /** It holds no model call at all. */
      bare: !own.some(({ kind }) => kind === "model"),
      calls,
      runs: runs.map((run, index) => ({
        ...run,
        ...(session !== undefined && { session: run.session ?? session }),
        ...(feedback.length > 0 && index === runs.length - 1 && { feedback }),
      })),
    };
  });
  doubtTorn(groups.flatMap(({ runs }) => runs));
  return groups;
}

/** Programs that open no span around their work have a trace for each call: what quotes another trace is no run of its own. */
function doubtTorn(runs: readonly TeamRun[]): void {
  const byThread = new Map(runs.filter(({ steps }) => steps.length > 0).map((run) => [threadOf(run), run]));
  const { families, doubts } = runFlow([...byThread.keys()], new Map(), () => []);
  for (const family of families) {
    const work = family.filter((thread) => !isSide(thread));
    const begun = work.some(({ calls }) => calls[0]!.messages.at(-1)?.role === "tool");
    const why = begun ? "the calls of its tools are in no trace" : family.map((one) => doubts.get(one)).find(Boolean);
    if (work.length < 2 && why === undefined) continue;
    for (const thread of work) {
      const { completeness } = byThread.get(thread)!;
      const detail =
        why ?? "several traces look like one run: open a span around each task, or record with coa record run";
      completeness.untrainable = [...(completeness.untrainable ?? []), { reason: "part-of-run", detail }];
    }
  }
}

/** All calls of a run as one thread, to compare it with others. */
function threadOf({ id, steps, messages, agents }: TeamRun): Thread {
  const calls = steps.map(({ input, ...step }, index): RecordedCall => {
    const startedAt = step.startedAt ?? index;
    const tools = agents.find((agent) => agent.id === step.agentId)?.tools ?? [];
    const told = { messages: input.map((key) => messages[key]!), tools, scope: id, outcome: "complete" as const };
    return { ...step, ...told, id: `${id} ${step.id}`, startedAt, endedAt: step.endedAt ?? startedAt };
  });
  return { id, calls, lineage: id, results: new Map() };
}

/** Finds the recorded calls of a trace; none where trace and recording hold only a part of each other. */
type FindWire = (calls: readonly CallParts[]) => ReadonlyMap<CallParts, RecordedCall> | "parts";

/** What trace and wire both know a call by. */
function keysOf({ responseId, toolCalls = [] }: Partial<Pick<RecordedCall, "responseId" | "toolCalls">>): string[] {
  const tools = toolCalls.flatMap(({ id }) => (id ? [`tool ${id}`] : []));
  return responseId ? [`response ${responseId}`, ...tools] : tools;
}

function wireIndex(wire: ReadonlySet<RecordedCall>, traced: ReadonlySet<string>): FindWire {
  const index = new Map<string, RecordedCall[]>();
  for (const call of wire) for (const key of keysOf(call)) addTo(index, key, call);
  let familyOf: Map<string, RunGroup> | undefined;
  const one = (parts: CallParts, used: ReadonlySet<RecordedCall>) => {
    for (const key of keysOf(parts)) {
      // Each call of the wire is used once: some servers give several answers the same id.
      const free = (index.get(key) ?? []).filter((call) => wire.has(call) && !used.has(call));
      const found = free.find((call) => call.text === parts.text) ?? free[0];
      if (found) return found;
    }
    return undefined;
  };
  return (calls) => {
    const used = new Set<RecordedCall>();
    const found = new Map<CallParts, RecordedCall>();
    for (const parts of calls) {
      const call = one(parts, used);
      if (call) found.set(parts, call);
      if (call) used.add(call);
    }
    if (found.size === 0) return found;
    familyOf ??= new Map(
      callGroups([...wire], "proxy").flatMap((family) => family.calls.map(({ id }) => [id, family] as const)),
    );
    const ids = new Set([...used].map(({ id }) => id));
    // Equal tasks at once are told apart by content and time only in part: traces that hold all of them know better.
    const isGuessed = ({ runs, calls: family }: RunGroup) =>
      family.length <= ids.size &&
      runs.some(({ agents }) => agents.some((agent) => agent.ambiguousLink)) &&
      family.every((call) => keysOf(call).some((key) => traced.has(key)));
    const isWhole = [...ids].every((id) => {
      const family = familyOf!.get(id);
      return !family || family.calls.every((call) => ids.has(call.id)) || isGuessed(family);
    });
    return isWhole && calls.every((parts) => found.has(parts) || parts.error !== undefined) ? found : "parts";
  };
}

interface Placed {
  span: TraceSpan;
  agent: TraceSpan | undefined;
  parts: CallParts;
}

function traceToRuns(
  traceId: string,
  given: readonly TraceSpan[],
  source: string,
  find: FindWire,
  take: (call: RecordedCall) => void,
): TeamRun[] {
  const spans = [...given].sort((a, b) => a.startedAt - b.startedAt);
  const byId = new Map(spans.map((span) => [span.id, span]));
  const models = spans.filter((span) => span.kind === "model");
  if (models.length === 0) return [];
  const placed = models.map((span): Placed => {
    const agent = ancestors(span, byId).find((one) => one.kind === "agent");
    return { span, agent, parts: partsOf(span, agent?.id ?? "root") };
  });
  attachTools(spans, byId, placed);
  const wired = find(placed.map(({ parts }) => parts));
  // What was recorded is exact: a trace that has only some of its calls, or some of whose calls it lacks, adds nothing.
  if (wired === "parts") return [];
  const joined = wired.size;
  for (const [parts, call] of wired) {
    take(call);
    takeWire(parts, call);
  }
  attachResults(placed);
  rebuildHistories(placed);
  const cuts = placed.flatMap(({ span, parts }) => (span.cut !== undefined && parts.truncated ? [span.cut] : []));
  cuts.push(...spans.filter((span) => span.kind === "tool" && joined === 0).flatMap((span) => span.cut ?? []));
  if (placed.every(({ agent }) => agent === undefined)) return fromThreads(traceId, source, placed, cuts);
  const agents = agentsOf(spans, byId, placed);
  const outermost = agents.filter((agent) => agent.parentCallId === undefined && agent.handoffFrom === undefined);
  const said = outermost.length === 1 ? outermost[0]!.report : undefined;
  // Code that computes the answer is the last thing an agent writes: what it gave back is what the code returned.
  const last = placed.findLast(({ parts }) => parts.agentId === outermost[0]?.spanId)?.parts.toolCalls.at(-1);
  if (said !== undefined && last?.error === undefined && last) last.result ??= said;
  const agentOfSpan = new Map(agents.map((agent) => [agent.spanId, agent.id]));
  const run = assembleRun({
    id: traceId,
    source: joined > 0 ? `${source}+wire` : source,
    agents: agents.map(({ spanId: _spanId, ...agent }) => agent),
    calls: placed.map(({ parts }) => ({ ...parts, agentId: agentOfSpan.get(parts.agentId) ?? agents[0]!.id })),
    truncated: cuts.length > 0,
    notes: [...new Set(cuts)].slice(0, 5),
    // What the outermost agent gave back, where the trace says so.
    ...(said !== undefined && { answer: said }),
  });
  return [run];
}

/** A trace without agents (or whose agents were not instrumented) still has threads. */
function fromThreads(traceId: string, source: string, placed: readonly Placed[], cuts: string[]): TeamRun[] {
  const calls = placed.map(({ span, parts }): RecordedCall => {
    const { agentId: _agentId, toolCalls, ...rest } = parts;
    return {
      ...rest,
      id: span.id,
      runId: traceId,
      startedAt: span.startedAt,
      endedAt: span.endedAt ?? span.startedAt,
      toolCalls: toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })),
      outcome: "complete",
    };
  });
  const runs = callsToRuns(calls, source);
  for (const run of cuts.length > 0 ? runs : []) {
    const { completeness } = run;
    const reasons = (completeness.untrainable ?? []).filter(({ reason }) => reason !== "cut");
    completeness.truncated = true;
    completeness.notes.push(...new Set(cuts));
    completeness.untrainable = [{ reason: "cut", detail: [...new Set(cuts)].join("; ") }, ...reasons];
  }
  return runs;
}

function partsOf(span: TraceSpan, agentId: string): CallParts {
  const {
    lossyHistory: _lossy,
    recorder: _recorder,
    outcome: _outcome,
    notes: _notes,
    previousResponseId: _previous,
    conversation: _conversation,
    ...call
  } = span.call ?? {};
  return {
    text: "",
    promptTokens: 0,
    completionTokens: 0,
    tools: [],
    messages: [],
    ...call,
    toolCalls: (call.toolCalls ?? []).map((tool) => ({ ...tool })),
    agentId,
    startedAt: span.startedAt,
    endedAt: span.endedAt ?? span.startedAt,
    ...(span.error !== undefined && { error: span.error }),
    ...(span.cut !== undefined && { truncated: true }),
  };
}

function takeWire(parts: CallParts, call: RecordedCall): void {
  const known = new Map(parts.toolCalls.map((tool) => [tool.id, tool]));
  parts.messages = call.messages;
  parts.tools = call.tools;
  parts.text = call.text;
  if (call.reasoning) parts.reasoning = call.reasoning;
  const { cachedTokens, reasoningTokens, finish, hosted, settings, lost, sampled } = call;
  Object.assign(parts, defined({ cachedTokens, reasoningTokens, finish, hosted, settings, lost, sampled }));
  parts.toolCalls = call.toolCalls.map((tool) => ({ ...known.get(tool.id), ...tool }));
  parts.promptTokens = call.promptTokens || parts.promptTokens;
  parts.completionTokens = call.completionTokens || parts.completionTokens;
  parts.truncated = call.truncated ?? false;
}

/** Gives each tool span to the call that asked for it: by id, else by name and arguments, else by name, in order. */
function attachTools(
  spans: readonly TraceSpan[],
  byId: ReadonlyMap<string, TraceSpan>,
  placed: readonly Placed[],
): void {
  const taken = new Set<TeamToolCall>();
  const byAgent = Map.groupBy(placed, ({ agent }) => agent);
  for (const span of spans) {
    if (span.kind !== "tool" || !span.tool) continue;
    const agent = ancestors(span, byId).find((one) => one.kind === "agent");
    const near = (byAgent.get(agent) ?? []).filter((one) => one.span.startedAt <= span.startedAt);
    const free = near.flatMap(({ parts }) => parts.toolCalls).filter((tool) => !taken.has(tool));
    const { callId, name, arguments: text, result } = span.tool;
    const named = free.filter((tool) => tool.name === name);
    let tool =
      (callId === undefined ? undefined : free.find((one) => one.id === callId)) ??
      named.find((one) => text !== undefined && argumentsKey(one.arguments) === argumentsKey(text)) ??
      (callId === undefined ? named.at(-1) : undefined);
    const caller = near.findLast(({ parts }) => parts.toolCalls.length === 0 || parts.text === "") ?? near.at(-1);
    // A tool that code called is part of what the code did.
    if (!tool && near.at(-1)?.parts.toolCalls.some((one) => one.name === "python_interpreter")) continue;
    if (!tool && caller) {
      tool = { id: callId ?? span.id, name, arguments: text ?? "" };
      caller.parts.toolCalls.push(tool);
    }
    if (!tool) continue;
    taken.add(tool);
    tool.startedAt = span.startedAt;
    if (span.endedAt !== undefined) tool.endedAt = span.endedAt;
    if (result !== undefined) tool.result = result;
    if (span.error !== undefined) tool.error = span.error;
    span.tool.callId = tool.id;
  }
}

/** What no tool span contains may be in a later prompt. */
function attachResults(placed: readonly Placed[]): void {
  const results = new Map<string, string>();
  for (const { parts } of placed) {
    for (const { role, toolCallId, content } of parts.messages) {
      if (role === "tool" && toolCallId && !results.has(toolCallId)) results.set(toolCallId, content);
    }
  }
  for (const { parts } of placed) {
    for (const tool of parts.toolCalls) {
      const result = results.get(tool.id);
      if (result !== undefined && tool.error === undefined) tool.result ??= result;
    }
  }
}

function rebuildHistories(placed: readonly Placed[]): void {
  const histories = new Map<TraceSpan | undefined, Message[]>();
  for (const { span, agent, parts } of placed) {
    const history = histories.get(agent);
    if (history && span.call?.lossyHistory) parts.messages = [...history];
    const said: Message = { role: "assistant", content: parts.text };
    if (parts.toolCalls.length > 0) {
      said.toolCalls = parts.toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    }
    const answers = parts.toolCalls.map(
      (tool): Message => ({ role: "tool", content: tool.result ?? tool.error ?? "", toolCallId: tool.id }),
    );
    histories.set(agent, [...parts.messages, said, ...answers]);
  }
}

type PlacedAgent = TeamAgent & { spanId: string };

function agentsOf(
  spans: readonly TraceSpan[],
  byId: ReadonlyMap<string, TraceSpan>,
  placed: readonly Placed[],
): PlacedAgent[] {
  const working = new Set(placed.map(({ agent }) => agent));
  const kept = spans.filter((span) => span.kind === "agent" && working.has(span));
  const ids = new Map(kept.map((span, index) => [span, `agent-${index + 1}`]));
  const rootless = working.has(undefined);
  const agents = kept.map((span): PlacedAgent => {
    const above = ancestors(span, byId);
    const parentAt = above.findIndex((one) => ids.has(one));
    const parent = above[parentAt];
    const tool = above.slice(0, parentAt === -1 ? above.length : parentAt).find((one) => one.kind === "tool");
    const handed = spans.findLast(
      (one) => one.kind === "handoff" && one.handoff?.to === span.agent?.name && one.startedAt <= span.startedAt,
    );
    const from = handed && ancestors(handed, byId).find((one) => ids.has(one) && one !== span);
    const before = placed.findLast(({ agent, span: one }) => agent === parent && one.startedAt <= span.startedAt);
    // Called from code that its caller wrote.
    const code = before?.parts.toolCalls.find((one) => one.name === "python_interpreter");
    const parentCallId = tool?.tool?.callId ?? (parent && code?.id);
    const handoffFrom = tool || parentCallId !== undefined ? undefined : (from ?? parent);
    const first = placed.find(({ agent }) => agent === span)?.parts.messages;
    const system = span.agent?.instructions ?? first?.find((message) => message.role === "system")?.content ?? "";
    return {
      id: ids.get(span)!,
      spanId: span.id,
      name:
        span.agent?.name ??
        (tool?.tool ? nameFromCall({ id: "", arguments: "", ...tool.tool }) : (toldName(system) ?? span.name)),
      ...(span.agent?.instructions !== undefined && { instructions: span.agent.instructions }),
      ...(span.agent?.tools && { tools: span.agent.tools }),
      ...(span.agent?.report !== undefined && { report: span.agent.report }),
      ...(parentCallId !== undefined && { parentCallId }),
      ...(handoffFrom && ids.has(handoffFrom) && { handoffFrom: ids.get(handoffFrom) }),
    };
  });
  linkByQuotes(agents, placed);
  return rootless ? [{ id: "agent-0", spanId: "root", name: "root" }, ...agents] : agents;
}

/** Agents that a program ran one after another: each is given what those before it said. */
function linkByQuotes(agents: readonly PlacedAgent[], placed: readonly Placed[]): void {
  const loose = agents.filter(
    ({ parentCallId, handoffFrom }) => parentCallId === undefined && handoffFrom === undefined,
  );
  if (loose.length < 2) return;
  const callsOf = Map.groupBy(placed, ({ agent }) => agent?.id);
  const said = quoteIndex<PlacedAgent>();
  for (const agent of loose) {
    const own = callsOf.get(agent.spanId) ?? [];
    const prompt = own[0]?.parts.messages.map(({ content }) => content).join("\n") ?? "";
    const read = new Set(said.in(prompt).flatMap((passage) => said.saidBy(passage)));
    const [from, ...joins] = [...read].reverse();
    if (from) agent.handoffFrom = from.id;
    if (joins.length > 0) agent.joins = joins.map(({ id }) => id);
    for (const passage of own.flatMap(({ parts }) => passagesOf(parts.text))) said.add(passage, agent);
  }
}
