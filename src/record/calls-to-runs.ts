/** Turns recorded model calls into team runs: threads, links between them, one run for each run id or each first agent. */
import { fingerprint } from "../core/fingerprint.ts";
import type { TeamAgent, TeamRun } from "../core/team-run.ts";
import { isTransfer, nameFromCall, toldName } from "./agent-name.ts";
import { assembleRun, type CallParts } from "./assemble-run.ts";
import { type CallFlow, callFlow } from "./call-flow.ts";
import { callThreads, joinTurns, systemOf, type Thread } from "./call-threads.ts";
import { linkThreads, type ThreadLink } from "./link-threads.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";
import { withoutRetries } from "./retries.ts";
import { splitTurns } from "./turns.ts";
import { historyBefore } from "./user-turn.ts";

/** Team runs in the order in which they began. */
export function callsToRuns(given: readonly RecordedCall[], source: string): TeamRun[] {
  const flow = callFlow(given);
  const named = new Map<string, RecordedCall[]>();
  const unnamed: RecordedCall[] = [];
  for (const call of withoutRetries(given)) {
    if (call.runId === undefined) unnamed.push(call);
    else addTo(named, call.runId, call);
  }
  const runs = [...named].flatMap(([runId, own]) => {
    const { threads, links } = linkedThreads(own, flow);
    return buildTurns(runId, source, threads, links);
  });
  const { threads, links } = linkedThreads(unnamed, flow);
  const groups = families(threads, links);
  for (const family of groups) {
    const { id: callId, startedAt, responseId } = family[0]!.calls[0]!;
    const id = `run-${fingerprint(JSON.stringify([callId, startedAt, responseId]))}`;
    const inside = startedInside(family[0]!, groups, links, flow);
    runs.push(...buildTurns(id, source, family, links, inside ? "it ran inside a tool call of another run" : ""));
  }
  return runs.sort((a, b) => (a.steps[0]?.startedAt ?? 0) - (b.steps[0]?.startedAt ?? 0));
}

/** The threads of calls, and which tool call started each. */
function linkedThreads(calls: readonly RecordedCall[], flow: CallFlow) {
  const pieces = callThreads(calls, flow);
  const links = linkThreads(pieces, flow);
  const joined = joinTurns(pieces, (thread) => links.has(thread));
  for (const link of links.values()) link.parent = joined.get(link.parent) ?? link.parent;
  return { threads: pieces.filter((thread) => !joined.has(thread)), links };
}

/**
 * Whether a first agent was probably started by another run, though no content links the two: it lived inside one of that
 * run's tool calls, nobody else was started by that call, and it was told other things than that run's first agent.
 */
function startedInside(
  root: Thread,
  groups: readonly (readonly Thread[])[],
  links: ReadonlyMap<Thread, ThreadLink>,
  flow: CallFlow,
): boolean {
  const before = new Set(flow(root.calls[0]!));
  const claimed = new Set([...links.values()].map(({ call }) => call));
  const [from, to] = [root.calls[0]!.startedAt, root.calls.at(-1)!.endedAt];
  const told = systemOf(root.calls[0]!);
  return groups.some(
    (group) =>
      group[0] !== root &&
      group.some((thread) =>
        thread.calls.some((call) => {
          const known = before.has(call.id);
          if (!known && (root.calls[0]!.after !== undefined || systemOf(group[0]!.calls[0]!) === told)) return false;
          return call.toolCalls.some((tool) => {
            const result = thread.results.get(tool.id);
            const free = known || !claimed.has(tool);
            return free && result !== undefined && call.endedAt <= from && to <= result.at;
          });
        }),
      ),
  );
}

/** One run for each turn of the user; the turns of a session share its id. */
function buildTurns(
  id: string,
  source: string,
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  unlinked = "",
): TeamRun[] {
  const turns = splitTurns(threads, links);
  const session = turns.length > 1 ? { session: id } : {};
  return turns.map((turn, index) =>
    buildRun(turns.length > 1 ? `${id}.${index + 1}` : id, source, turn.threads, turn.links, {
      ...session,
      ...(unlinked && { unlinked }),
    }),
  );
}

/** Threads that belong together by their links, the first of each being the one nobody called. */
function families(threads: readonly Thread[], links: ReadonlyMap<Thread, ThreadLink>): Thread[][] {
  const byRoot = new Map<Thread, Thread[]>();
  for (const thread of threads) {
    let root = thread;
    for (const seen = new Set([root]); ; seen.add(root)) {
      const above = links.get(root)?.parent ?? root.handoffFrom;
      if (!above || seen.has(above)) break;
      root = above;
    }
    addTo(byRoot, root, thread);
  }
  return [...byRoot.values()];
}

function buildRun(
  id: string,
  source: string,
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  more: { session?: string; unlinked?: string },
): TeamRun {
  const ids = new Map(threads.map((thread, index) => [thread, `agent-${index + 1}`]));
  const byHint = new Map(threads.map((thread) => [thread.id, ids.get(thread)!]));
  const agents = threads.map((thread, index): TeamAgent => {
    const link = links.get(thread);
    const hint = thread.calls[0]?.agent;
    const told = hint?.handoffFrom === undefined ? undefined : byHint.get(hint.handoffFrom);
    const before = told ?? (thread.handoffFrom && ids.get(thread.handoffFrom)) ?? outputOf(thread, threads, links, ids);
    return {
      id: ids.get(thread)!,
      name: hint?.name ?? agentName(thread, link, index),
      ...(link && { parentCallId: link.call.id }),
      ...(link?.ambiguous && { ambiguousLink: true }),
      ...(!link && index > 0 && before !== undefined && { handoffFrom: before }),
    };
  });
  const calls = threads.flatMap((thread) => thread.calls.map((call) => toParts(call, thread, ids.get(thread)!)));
  const notes = threads.flatMap((thread) => thread.calls.flatMap((call) => call.notes ?? []));
  const first = threads[0]?.calls[0];
  const history = first && historyBefore(first.messages);
  return assembleRun({
    id,
    source: first?.recorder ?? source,
    agents,
    calls,
    notes: [...new Set(notes)],
    inferred: inferredOf(threads, links),
    ...more,
    ...(history && { history }),
  });
}

/** Which parts of a run's structure were inferred from content. */
function inferredOf(threads: readonly Thread[], links: ReadonlyMap<Thread, ThreadLink>): ("run" | "links")[] {
  const first = threads[0]?.calls[0];
  const linked = threads.some((thread) => thread.inferred || links.get(thread)?.inferred);
  const told = first?.runId !== undefined || (first?.recorder === "preload" && !linked);
  return [...(told ? [] : (["run"] as const)), ...(linked ? (["links"] as const) : [])];
}

function toParts(call: RecordedCall, thread: Thread, agentId: string): CallParts {
  const {
    id: _id,
    recorder: _recorder,
    runId: _runId,
    agent: _agent,
    outcome: _outcome,
    notes: _notes,
    ...rest
  } = call;
  const { previousResponseId: _previous, conversation: _conversation, toolCalls, ...parts } = rest;
  return {
    ...parts,
    agentId,
    toolCalls: toolCalls.map((tool) => {
      const result = thread.results.get(tool.id);
      return { ...tool, ...(result && { result: result.text }) };
    }),
  };
}

/** In a pipeline nobody calls anybody: the next agent reads what exactly one agent before it wrote. */
function outputOf(
  thread: Thread,
  threads: readonly Thread[],
  links: ReadonlyMap<Thread, ThreadLink>,
  ids: ReadonlyMap<Thread, string>,
): string | undefined {
  const first = thread.calls[0]!;
  const read = first.messages.map((message) => message.content).join("\n");
  const writers = threads.filter((one) => {
    const last = one.calls.at(-1)!;
    const text = last.text.trim();
    return (
      one !== thread && !links.has(one) && last.endedAt <= first.startedAt && text.length >= 20 && read.includes(text)
    );
  });
  return writers.length === 1 ? ids.get(writers[0]!) : undefined;
}

/** By the call that started it, by its instructions, or by its place. */
function agentName(thread: Thread, link: ThreadLink | undefined, index: number): string {
  if (link) return nameFromCall(link.call);
  const transfer = thread.handoffFrom?.calls.at(-1)?.toolCalls.find((call) => isTransfer(call.name));
  if (transfer) return nameFromCall(transfer);
  const system = thread.calls[0]?.messages.find((message) => message.role === "system")?.content ?? "";
  return toldName(system) ?? (index === 0 ? "manager" : `agent-${index + 1}`);
}
