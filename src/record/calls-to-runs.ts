/** Turns recorded model calls into team runs: threads, links between them, one run for each run id or each first agent. */
import { hash } from "node:crypto";
import type { TeamAgent, TeamRun } from "../core/team-run.ts";
import { assembleRun, type CallParts } from "./assemble-run.ts";
import { callThreads, type Thread } from "./call-threads.ts";
import { linkThreads, type ThreadLink } from "./link-threads.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";

/** Team runs in the order in which they began. */
export function callsToRuns(calls: readonly RecordedCall[], source: string): TeamRun[] {
  const named = new Map<string, RecordedCall[]>();
  const unnamed: RecordedCall[] = [];
  for (const call of calls) {
    if (call.runId === undefined) unnamed.push(call);
    else addTo(named, call.runId, call);
  }
  const runs = [...named].map(([runId, own]) => {
    const threads = callThreads(own);
    return buildRun(runId, source, threads, linkThreads(threads));
  });
  const threads = callThreads(unnamed);
  const links = linkThreads(threads);
  for (const family of families(threads, links)) {
    const { id: callId, startedAt, responseId } = family[0]!.calls[0]!;
    const id = `run-${hash("sha256", JSON.stringify([callId, startedAt, responseId])).slice(0, 12)}`;
    runs.push(buildRun(id, source, family, links));
  }
  return runs.sort((a, b) => (a.steps[0]?.startedAt ?? 0) - (b.steps[0]?.startedAt ?? 0));
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
  return assembleRun({
    id,
    source: threads[0]?.calls[0]?.recorder ?? source,
    agents,
    calls,
    notes: [...new Set(notes)],
  });
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
  const { previousResponseId: _previous, toolCalls, ...parts } = rest;
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

/** By the call that started it, by what it was told it is, or by its place. */
function agentName(thread: Thread, link: ThreadLink | undefined, index: number): string {
  if (link) return cleanName(link.call.name);
  const transfer = thread.handoffFrom?.calls
    .at(-1)
    ?.toolCalls.find((call) => /transfer|handoff|hand_off/i.test(call.name));
  if (transfer) return cleanName(transfer.name);
  const system = thread.calls[0]?.messages.find((message) => message.role === "system")?.content ?? "";
  return toldName(system) ?? (index === 0 ? "manager" : `agent-${index + 1}`);
}

/** The name an agent is given in its instructions, where they say "You are the …". */
export function toldName(instructions: string): string | undefined {
  const told = /\bYou are (?:the|an?) ([\w][\w -]{1,40}?)(?:[.,;:\n]|\s(?:that|who|and|for|in|of)\b|$)/i.exec(
    instructions,
  );
  return told?.[1]?.trim().replaceAll(" ", "_").toLowerCase();
}

/** Frameworks dress up the names of agents when they offer them as tools. */
export function cleanName(name: string): string {
  return name.replace(/^(?:agent[-_]|transfer_to_|handoff_to_|hand_off_to_|delegate_to_|call_)/i, "") || name;
}
