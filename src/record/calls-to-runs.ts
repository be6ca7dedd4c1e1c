/** Turns recorded model calls into team runs: threads, links between them, one run for each run id or each first agent. */
import { fingerprint } from "../core/fingerprint.ts";
import { parseJson } from "../core/json-value.ts";
import type { TeamAgent, TeamRun } from "../core/team-run.ts";
import { isTransfer, nameFromCall, toldName } from "./agent-name.ts";
import { assembleRun, type CallParts } from "./assemble-run.ts";
import { type CallFlow, callFlow, firstInFlow } from "./call-flow.ts";
import { callThreads, joinTurns, systemOf, type Thread } from "./call-threads.ts";
import { linkThreads, type ThreadLink } from "./link-threads.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { withoutRetries } from "./retries.ts";
import { isSide, type RunFlow, runFlow } from "./run-flow.ts";
import { sideKind } from "./side-calls.ts";
import { splitTurns } from "./turns.ts";
import { historyBefore } from "./user-turn.ts";

/** The runs of calls that belong together (the turns of one conversation), and those calls. */
export interface RunGroup {
  runs: TeamRun[];
  calls: RecordedCall[];
}

/** Team runs in the order in which they began. */
export function callsToRuns(given: readonly RecordedCall[], source: string): TeamRun[] {
  return inOrder(callGroups(given, source).flatMap(({ runs }) => runs));
}

/** Runs by the time of their first step. */
export function inOrder(runs: TeamRun[]): TeamRun[] {
  return runs.sort((a, b) => (a.steps[0]?.startedAt ?? 0) - (b.steps[0]?.startedAt ?? 0));
}

/** The same with the calls of each. */
export function callGroups(all: readonly RecordedCall[], source: string): RunGroup[] {
  const given = new Map(all.flatMap((call) => (call.given && call.scope ? [[call.scope, call]] : [])));
  const flow = callFlow(all);
  const named = new Map<string, RecordedCall[]>();
  const scoped = new Map<string | undefined, RecordedCall[]>();
  for (const call of withoutRetries(all.filter((one) => !one.given))) {
    if (call.runId === undefined) addTo(scoped, call.scope, call);
    else addTo(named, call.runId, call);
  }
  // An id that was given says what is one run; what users seem to say inside it cuts nothing.
  const groups = [...named].map(([runId, calls]): RunGroup => {
    const { threads, links } = linkedThreads(calls, flow);
    return { calls, runs: [buildRun(runId, source, threads, links, runFlow(threads, links, flow), {})] };
  });
  // Each call of a framework is put together by itself; the flow says which of them a program wired together.
  const parts = [...scoped.values()].map((own) => linkedThreads(own, flow));
  const links = new Map(parts.flatMap((part) => [...part.links]));
  const shape = runFlow(
    parts.flatMap(({ threads }) => threads),
    links,
    flow,
  );
  const inside = startedInside(shape.families, links, flow);
  for (const family of shape.families) {
    const { id: callId, startedAt, responseId } = family[0]!.calls[0]!;
    const id = `run-${fingerprint(JSON.stringify([callId, startedAt, responseId]))}`;
    const doubt = family.map((thread) => shape.doubts.get(thread)).find((why) => why !== undefined);
    const unlinked = inside.has(family[0]!) ? { unlinked: "it ran inside a tool call of another run" } : {};
    const doubts = { ...unlinked, ...(doubt && { partOf: doubt }) };
    const scopes = [...new Set(family.flatMap(({ calls }) => calls[0]!.scope ?? []))];
    const told = scopes.flatMap((scope) => given.get(scope) ?? []);
    const answer = scopes.length === 1 && told[0] ? { answer: told[0].text } : {};
    groups.push({
      calls: [...family.flatMap((thread) => thread.calls), ...told],
      runs: scopes[0]
        ? [buildRun(scopes[0], source, family, links, shape, { ...doubts, ...answer })]
        : buildTurns(id, source, family, links, shape, doubts),
    });
  }
  return groups;
}

function linkedThreads(calls: readonly RecordedCall[], flow: CallFlow) {
  const pieces = callThreads(calls, flow);
  const links = linkThreads(pieces, flow);
  const joined = joinTurns(pieces, (thread) => links.has(thread));
  for (const link of links.values()) link.parent = joined.get(link.parent) ?? link.parent;
  return { threads: pieces.filter((thread) => !joined.has(thread)), links };
}

/**
 * First agents that were probably started by another run, though no content links the two: each lived inside one of that
 * run's tool calls, no other agent was started by that call, and it was told other things than that run's first agent.
 */
function startedInside(
  families: readonly (readonly Thread[])[],
  links: ReadonlyMap<Thread, ThreadLink>,
  flow: CallFlow,
): Set<Thread> {
  const claimed = new Set([...links.values()].map(({ call }) => call));
  const isFirst = firstInFlow(families.flat().flatMap((thread) => thread.calls));
  const open = families
    .flatMap((family) =>
      family.flatMap((thread) =>
        thread.calls.flatMap((call) =>
          call.toolCalls.flatMap((tool) => {
            const to = thread.results.get(tool.id)?.at;
            const told = systemOf(family[0]!.calls[0]!);
            return to === undefined
              ? []
              : [{ id: call.id, family, told, free: !claimed.has(tool), from: call.endedAt, to }];
          }),
        ),
      ),
    )
    .sort((a, b) => a.from - b.from);
  const found = new Set<Thread>();
  let next = 0;
  let now: typeof open = [];
  for (const family of families.toSorted((a, b) => a[0]!.calls[0]!.startedAt - b[0]!.calls[0]!.startedAt)) {
    const root = family[0]!;
    const first = root.calls[0]!;
    while (next < open.length && open[next]!.from <= first.startedAt) now.push(open[next++]!);
    now = now.filter(({ to }) => to >= first.startedAt);
    if (isFirst(first)) continue;
    const holding = now.filter((one) => one.family !== family && root.calls.at(-1)!.endedAt <= one.to);
    const before = holding.length > 0 && first.after !== undefined ? new Set(flow(first)) : undefined;
    const told = systemOf(first);
    if (holding.some((one) => (before ? before.has(one.id) : one.free && one.told !== told))) found.add(root);
  }
  return found;
}

type Doubts = { unlinked?: string; partOf?: string };

/** One run for each turn of the user; the turns of a session share its id. */
function buildTurns(
  id: string,
  source: string,
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  shape: RunFlow,
  doubts: Doubts,
): TeamRun[] {
  const turns = splitTurns(threads, links);
  const isTied = (thread: Thread) => thread === threads[0] || links.has(thread) || thread.handoffFrom || isSide(thread);
  if (turns.length > 1 && threads.some((thread) => shape.reads.has(thread) || !isTied(thread))) {
    const why = "several user turns and a flow between agents: record with a run id for each task";
    return [buildRun(id, source, threads, links, shape, { partOf: why, ...doubts })];
  }
  const session = turns.length > 1 ? { session: id } : {};
  return turns.map((turn, index) =>
    buildRun(turns.length > 1 ? `${id}.${index + 1}` : id, source, turn.threads, turn.links, shape, {
      ...session,
      ...doubts,
    }),
  );
}

function buildRun(
  id: string,
  source: string,
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  shape: RunFlow,
  more: Doubts & { session?: string; answer?: string },
): TeamRun {
  const ids = new Map(threads.map((thread, index) => [thread, `agent-${index + 1}`]));
  const byHint = new Map(threads.map((thread) => [thread.id, ids.get(thread)!]));
  const agents = threads.map((thread, index): TeamAgent => {
    const link = links.get(thread);
    const hint = thread.calls[0]?.agent;
    const told = hint?.handoffFrom === undefined ? undefined : byHint.get(hint.handoffFrom);
    const before = told ?? (thread.handoffFrom && ids.get(thread.handoffFrom));
    const reads = (shape.reads.get(thread) ?? []).flatMap((one) => ids.get(one) ?? []);
    const [from, ...joins] = new Set(before === undefined ? reads : [before, ...reads]);
    const side = sideKind(thread.calls[0]!.messages, thread.calls[0]!.tools.length > 0);
    return {
      id: ids.get(thread)!,
      name: hint?.name ?? agentName(thread, link, index),
      ...(link && { parentCallId: link.call.id }),
      ...(link?.ambiguous && { ambiguousLink: true }),
      ...(!link && index > 0 && from !== undefined && { handoffFrom: from }),
      ...(!link && index > 0 && joins.length > 0 && { joins }),
      ...(side && !link && { side }),
    };
  });
  const isEnd = (thread: Thread, own: string) =>
    !links.has(thread) && !shape.read.has(thread) && !agents.some(({ handoffFrom }) => handoffFrom === own);
  const calls = threads.flatMap((thread) => thread.calls.map((call) => toParts(call, thread, ids.get(thread)!)));
  // Code that gives the answer back has no other result.
  for (const tool of more.answer === undefined ? [] : calls.flatMap(({ toolCalls }) => toolCalls))
    if (tool.result === undefined && /\bfinal_answer\(/.test(tool.arguments)) tool.result = more.answer;
  const notes = threads.flatMap((thread) => thread.calls.flatMap((call) => call.notes ?? []));
  const first = threads[0]?.calls[0];
  const history = first && historyBefore(first.messages);
  return assembleRun({
    id,
    source: first?.recorder ?? source,
    agents,
    calls,
    notes: [...new Set(notes)],
    // Agents that were called by tools work alone; what the program passes on beside that changes nothing.
    ...(threads.some((thread) => links.has(thread)) && !threads.some(isHandedOver) && { topology: "agents-as-tools" }),
    inferred: inferredOf(threads, links, shape),
    ...(more.session === undefined && {
      ends: agents.flatMap(({ id: own }, index) => (isEnd(threads[index]!, own) ? own : [])),
    }),
    ...more,
    ...(history && { history }),
  });
}

function isHandedOver({ handoffFrom, calls }: Thread): boolean {
  return (handoffFrom ?? calls[0]?.agent?.handoffFrom) !== undefined;
}

/** Which parts of a run's structure were inferred from content. */
function inferredOf(
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  shape: RunFlow,
): ("run" | "links")[] {
  const first = threads[0]?.calls[0];
  const linked = threads.some((thread) => thread.inferred || shape.inferred.has(thread) || links.get(thread)?.inferred);
  const told = (first?.runId ?? first?.scope) !== undefined || (first?.recorder === "preload" && !linked);
  return [...(told ? [] : (["run"] as const)), ...(linked ? (["links"] as const) : [])];
}

/** What a recorder knows of a call that is no part of a step. */
const ofCalls = new Set(
  "id recorder runId scope given agent outcome notes tries previousResponseId conversation after joins root".split(" "),
);

function toParts(call: RecordedCall, thread: Thread, agentId: string): CallParts {
  const fields = Object.entries(call).filter(([name]) => !ofCalls.has(name));
  const parts = Object.fromEntries(fields) as unknown as CallParts;
  return {
    ...parts,
    agentId,
    toolCalls: call.toolCalls.map((tool) => {
      const result = thread.results.get(tool.id);
      return { ...tool, ...(result && { result: result.text }) };
    }),
  };
}

/** By the call that started it, by its instructions, or by its place. */
function agentName(thread: Thread, link: ThreadLink | undefined, index: number): string {
  const inCode = link && parseJson(link.call.arguments) === undefined;
  const asked = inCode && toldName(thread.calls[0]?.messages.find(({ role }) => role === "user")?.content ?? "");
  if (link) return asked || nameFromCall(link.call);
  const transfer = thread.handoffFrom?.calls.at(-1)?.toolCalls.find((call) => isTransfer(call.name));
  if (transfer) return nameFromCall(transfer);
  const system = thread.calls[0]?.messages.find((message) => message.role === "system")?.content ?? "";
  return toldName(system) ?? (index === 0 ? "manager" : `agent-${index + 1}`);
}
