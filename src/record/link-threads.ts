/**
 * Finds which tool call of which agent started each thread, from content and time alone: the task is in the call's
 * arguments, the report is in its result, and the thread lived while the call was open. Where more than one call fits,
 * the link is marked as ambiguous, not guessed.
 */

import { asArray, asObject, parseJson } from "../core/json-value.ts";
import type { ToolCall } from "../core/message.ts";
import { answerByTool } from "./answer-by-tool.ts";
import { type CallFlow, firstInFlow, isApart } from "./call-flow.ts";
import { argumentsKey, type Thread } from "./call-threads.ts";
import { squeeze } from "./quotes.ts";
import type { RecordedCall } from "./recorded-call.ts";
import { spoken } from "./user-turn.ts";

export interface ThreadLink {
  parent: Thread;
  call: ToolCall;
  ambiguous: boolean;
  /** Found by content alone, without knowing the program's flow. */
  inferred: boolean;
}

interface Candidate {
  parent: Thread;
  call: ToolCall;
  /** The model call that asked for it. */
  callerId: string;
  result: string | undefined;
  /** The program's flow, or a recorder inside it, says so too. */
  known: boolean;
  byTask: boolean;
  byReport: boolean;
  /** Enough to go by where no flow says more. */
  sure: boolean;
}

export function linkThreads(threads: readonly Thread[], flow: CallFlow = () => []): Map<Thread, ThreadLink> {
  const links = new Map<Thread, ThreadLink>();
  const claimed = new Set<ToolCall>();
  const claim = (thread: Thread, { parent, call, known }: Candidate, ambiguous: boolean) => {
    links.set(thread, { parent, call, ambiguous, inferred: !known });
    claimed.add(call);
  };
  const isFirst = firstInFlow(threads.flatMap((thread) => thread.calls));
  const open = new Map<Thread, Candidate[]>();
  const openAt = openCallsAt(threads);
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  for (const thread of threads) {
    const told = toldLink(thread, byId, claimed);
    const hint = thread.calls[0]?.agent;
    if (told) claim(thread, told, false);
    else if (!thread.handoffFrom && (!hint || hint.parent || thread.calls[0]?.after) && !isFirst(thread.calls[0]!)) {
      const found = candidates(thread, openAt(thread.calls[0]!.startedAt));
      const inFlow = orderByFlow(thread.calls[0]!, flow, found);
      const free = inFlow.filter(({ call }) => !claimed.has(call));
      // The nearest reply in the flow asked for it; equal calls of that reply are told apart below, or not at all.
      const nearest = free.filter(({ callerId }) => callerId === free[0]!.callerId);
      const fitting = inFlow.length > 0 ? surest(nearest) : surest(found.filter(isSure));
      if (inFlow.length > 0 && fitting.length === 1) claim(thread, fitting[0]!, false);
      else if (fitting.length > 0 || found.some(isSure)) open.set(thread, fitting.length > 0 ? fitting : found);
    }
  }
  settle(open, claimed, claim);
  for (const [thread, found] of open) {
    const free = found.filter(({ call }) => !claimed.has(call));
    const chosen = free[0] ?? found[0]!;
    const equal = free.length > 0 && chosen.known && free.every((one) => interchangeable(one, chosen));
    claim(thread, chosen, !equal);
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
        (one.name === told.name || callsInCode(one, told.name)) &&
        (told.arguments === undefined || argumentsKey(one.arguments) === argumentsKey(told.arguments)),
  );
  return (
    call && { parent, call, callerId: "", result: undefined, known: true, byTask: true, byReport: true, sure: true }
  );
}

/** Whether a call is code in which a function is called: agents of agents that write code are such functions. */
function callsInCode({ arguments: code }: ToolCall, name = ""): boolean {
  return name !== "" && parseJson(code) === undefined && code.includes(`${name}(`);
}

/** Equal calls of one reply that brought equal results: whichever of them it was, the run is the same. */
function interchangeable(a: Candidate, b: Candidate): boolean {
  return (
    a.callerId === b.callerId &&
    a.result === b.result &&
    a.call.name === b.call.name &&
    argumentsKey(a.call.arguments) === argumentsKey(b.call.arguments)
  );
}

/** A tool call between its request and its result: only then can a thread have been started by it. */
interface OpenCall {
  parent: Thread;
  call: ToolCall;
  callerId: string;
  from: number;
  to: number;
  result: string | undefined;
  texts: string[] | undefined;
}

const inBackground = /^\W*(?:async|background)\b.{0,40}\b(?:launched|started)\b/i;

/** Walks through time with the calls that are open, so that a day's traffic takes no more than its own length. */
function openCallsAt(threads: readonly Thread[]): (time: number) => OpenCall[] {
  const all = threads
    .flatMap((parent) =>
      parent.calls.flatMap((caller) =>
        caller.toolCalls.map((call): OpenCall => {
          const told = parent.results.get(call.id);
          // An agent that works in the background reports later.
          const result = told && inBackground.test(told.text) ? undefined : told;
          const to = result?.at ?? Number.POSITIVE_INFINITY;
          const text = result && squeeze(result.text);
          return { parent, call, callerId: caller.id, from: caller.startedAt, to, result: text, texts: undefined };
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
  const task = squeeze(spoken(first.messages.findLast((message) => message.role === "user")?.content ?? ""));
  const report = squeeze(last.toolCalls.length === 0 ? last.text : (answerByTool(last, last.tools) ?? ""));
  const found: Candidate[] = [];
  for (const one of open) {
    const { parent, call, callerId, to, result } = one;
    if (parent === thread || to < last.startedAt || isApart(parent.calls[0]!, first)) continue;
    one.texts ??= argumentTexts(call.arguments);
    const byReport = report !== "" && result !== undefined && shares(result, report);
    // What another agent was asked may hold any word; and a result without the report was not of this agent.
    const refuted = report !== "" && result !== undefined && !byReport && first.after === undefined;
    const byTask = !refuted && one.texts.some((text) => isTask(task, text));
    // A short report alone may be in many results.
    const sure = byTask || report.length >= 20;
    if (byTask || byReport) found.push({ parent, call, callerId, result, known: false, byTask, byReport, sure });
  }
  return found;
}

function isSure({ sure }: Candidate): boolean {
  return sure;
}

/** Those that the flow of the program holds before this call, nearest first. */
function orderByFlow(call: RecordedCall, flow: CallFlow, found: readonly Candidate[]): Candidate[] {
  if (call.after === undefined || found.length === 0) return [];
  // What brought the same report is meant before what was only asked the same.
  const byId = Map.groupBy(found.some(fitsWhole) ? found.filter(fitsWhole) : found, ({ callerId }) => callerId);
  return [...flow(call)].flatMap((id) => byId.get(id) ?? []).map((one) => ({ ...one, known: true }));
}

function fitsWhole({ byTask, byReport }: Candidate): boolean {
  return byTask && byReport;
}

/** Those that fit by task and report, else by task, else by report. */
function surest(found: readonly Candidate[]): Candidate[] {
  for (const wanted of [fitsWhole, (one: Candidate) => one.byTask, (one: Candidate) => one.byReport]) {
    const best = found.filter(wanted);
    if (best.length > 0) return best;
  }
  return [];
}

function argumentTexts(text: string): string[] {
  const value = parseJson(text) ?? [
    text,
    ...[...text.matchAll(/(["'])((?:\\.|(?!\1).)*)\1/gs)].map((match) => match[2]),
  ];
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

/** Whether an argument is the task that an agent was given: not only a word that occurs in it. */
function isTask(task: string, text: string): boolean {
  if (task === text) return true;
  const [short, long] = text.length < task.length ? [text, task] : [task, text];
  return short.length >= 12 && short.length * 4 >= long.length && long.includes(short);
}

function shares(a: string, b: string): boolean {
  return a.length > 0 && b.length > 0 && (a.includes(b) || b.includes(a));
}
