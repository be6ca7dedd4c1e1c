/**
 * Finds which tool call of which agent started each thread, from content and time alone: the task stands in the call's
 * arguments, the report stands in its result, and the thread lived while the call was open. Where more than one call
 * fits, the link is marked as ambiguous, not guessed in silence.
 */

import { asArray, asObject, parseJson } from "../core/json-value.ts";
import type { ToolCall } from "../core/message.ts";
import { argumentsKey, type Thread } from "./call-threads.ts";

export interface ThreadLink {
  parent: Thread;
  call: ToolCall;
  ambiguous: boolean;
}

interface Candidate {
  parent: Thread;
  call: ToolCall;
  byTask: boolean;
  byReport: boolean;
}

/** The link of each thread that has one. */
export function linkThreads(threads: readonly Thread[]): Map<Thread, ThreadLink> {
  const links = new Map<Thread, ThreadLink>();
  const claimed = new Set<ToolCall>();
  const claim = (thread: Thread, { parent, call }: Candidate, ambiguous: boolean) => {
    links.set(thread, { parent, call, ambiguous });
    claimed.add(call);
  };
  const open = new Map<Thread, Candidate[]>();
  const openAt = openCallsAt(threads);
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  for (const thread of threads) {
    const told = toldLink(thread, byId, claimed);
    const hint = thread.calls[0]?.agent;
    if (told) claim(thread, told, false);
    else if (!thread.handoffFrom && (!hint || hint.parent)) {
      const found = candidates(thread, openAt(thread.calls[0]!.startedAt));
      if (found.length > 0) open.set(thread, found);
    }
  }
  settle(open, claimed, claim);
  for (const [thread, found] of open) {
    const free = found.filter(({ call }) => !claimed.has(call));
    const chosen = free[0] ?? found[0]!;
    claim(thread, chosen, true);
  }
  return links;
}

/** Takes every thread that only one call fits, again and again, since each taken call narrows the rest. */
function settle(
  open: Map<Thread, Candidate[]>,
  claimed: ReadonlySet<ToolCall>,
  claim: (thread: Thread, candidate: Candidate, ambiguous: boolean) => void,
): void {
  for (let progress = true; progress; ) {
    progress = false;
    for (const [thread, found] of open) {
      const free = found.filter(({ call }) => !claimed.has(call));
      if (free.length !== 1) continue;
      claim(thread, free[0]!, false);
      open.delete(thread);
      progress = true;
    }
  }
}

/** A recorder inside the process knew the caller; only the id of the call may have to be looked up. */
function toldLink(
  thread: Thread,
  byId: ReadonlyMap<string, Thread>,
  claimed: ReadonlySet<ToolCall>,
): Candidate | undefined {
  const told = thread.calls[0]?.agent?.parent;
  const parent = told && byId.get(told.agentId);
  if (!told || !parent) return undefined;
  const calls = parent.calls.flatMap((call) => call.toolCalls);
  const call = calls.find((one) =>
    told.callId !== undefined
      ? one.id === told.callId
      : !claimed.has(one) &&
        one.name === told.name &&
        (told.arguments === undefined || argumentsKey(one.arguments) === argumentsKey(told.arguments)),
  );
  return call && { parent, call, byTask: true, byReport: true };
}

/** A tool call between its request and its result: only then can a thread have been started by it. */
interface OpenCall {
  parent: Thread;
  call: ToolCall;
  from: number;
  to: number;
  result: string | undefined;
  texts: string[] | undefined;
}

/** Walks through time with the calls that are open, so that a day's traffic takes no more than its own length. */
function openCallsAt(threads: readonly Thread[]): (time: number) => OpenCall[] {
  const all = threads
    .flatMap((parent) =>
      parent.calls.flatMap((caller) =>
        caller.toolCalls.map((call): OpenCall => {
          const result = parent.results.get(call.id);
          const to = result?.at ?? Number.POSITIVE_INFINITY;
          return { parent, call, from: caller.startedAt, to, result: result && squeeze(result.text), texts: undefined };
        }),
      ),
    )
    .sort((a, b) => a.from - b.from);
  let next = 0;
  let open: OpenCall[] = [];
  return (time) => {
    while (next < all.length && all[next]!.from <= time) open.push(all[next++]!);
    open = open.filter(({ to }) => to >= time);
    return open;
  };
}

function candidates(thread: Thread, open: readonly OpenCall[]): Candidate[] {
  const first = thread.calls[0]!;
  const last = thread.calls.at(-1)!;
  const task = squeeze(first.messages.findLast((message) => message.role === "user")?.content ?? "");
  const report = last.toolCalls.length === 0 ? squeeze(last.text) : "";
  const found: Candidate[] = [];
  for (const one of open) {
    const { parent, call, to, result } = one;
    if (parent === thread || to < last.startedAt) continue;
    one.texts ??= argumentTexts(call.arguments);
    const byTask = task !== "" && one.texts.some((text) => shares(task, text));
    const byReport = report !== "" && result !== undefined && shares(result, report);
    if (byTask || (byReport && report.length >= 20)) found.push({ parent, call, byTask, byReport });
  }
  for (const wanted of [
    (one: Candidate) => one.byTask && one.byReport,
    (one: Candidate) => one.byTask,
    (one: Candidate) => one.byReport,
  ]) {
    const best = found.filter(wanted);
    if (best.length > 0) return best;
  }
  return [];
}

/** All texts inside a call's arguments. */
function argumentTexts(text: string): string[] {
  const value = parseJson(text) ?? text;
  const texts: string[] = [];
  const walk = (inner: unknown, level: number): void => {
    if (typeof inner === "string") texts.push(squeeze(inner));
    else if (level < 8) {
      for (const one of Array.isArray(inner) ? asArray(inner) : Object.values(asObject(inner) ?? {}))
        walk(one, level + 1);
    }
  };
  walk(value, 0);
  return texts.filter((one) => one.length >= 3);
}

function shares(a: string, b: string): boolean {
  return a.length > 0 && b.length > 0 && (a.includes(b) || b.includes(a));
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
