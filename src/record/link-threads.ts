/**
 * Finds which tool call of which agent started each thread, from content and time alone: the task stands in the call's
 * arguments, the report stands in its result, and the thread lived while the call was open. Where more than one call
 * fits, the link is marked as ambiguous, not guessed in silence.
 */
import type { ToolCall } from "../core/message.ts";
import { argumentsKey, type Thread } from "./call-threads.ts";
import { asArray, asObject, parseJson } from "./recorded-call.ts";

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
  for (const thread of threads) {
    const told = toldLink(thread, threads, claimed);
    if (told) claim(thread, told, false);
    else if (!thread.handoffFrom && !thread.calls[0]?.agent) {
      const found = candidates(thread, threads);
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
function toldLink(thread: Thread, threads: readonly Thread[], claimed: ReadonlySet<ToolCall>): Candidate | undefined {
  const told = thread.calls[0]?.agent?.parent;
  const parent = told && threads.find((one) => one.id === told.agentId);
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

function candidates(thread: Thread, threads: readonly Thread[]): Candidate[] {
  const first = thread.calls[0]!;
  const last = thread.calls.at(-1)!;
  const task = squeeze(first.messages.findLast((message) => message.role === "user")?.content ?? "");
  const report = last.toolCalls.length === 0 ? squeeze(last.text) : "";
  const found: Candidate[] = [];
  for (const parent of threads) {
    if (parent === thread) continue;
    for (const caller of parent.calls) {
      if (caller.startedAt > first.startedAt) continue;
      for (const call of caller.toolCalls) {
        const result = parent.results.get(call.id);
        if (result && (result.at < last.startedAt || result.at < first.startedAt)) continue;
        const byTask = task !== "" && argumentTexts(call.arguments).some((text) => shares(task, text));
        const byReport = report !== "" && result !== undefined && shares(squeeze(result.text), report);
        if (byTask || (byReport && report.length >= 20)) found.push({ parent, call, byTask, byReport });
      }
    }
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
function argumentTexts(text: string, depth = 0): string[] {
  const value = depth === 0 ? (parseJson(text) ?? text) : text;
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
