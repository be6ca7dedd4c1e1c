/**
 * Recorded calls: what was asked and what came back, written once and found again by what was asked. The recorder writes
 * them, the replaying proxy answers from them. Calls repeat their history, so messages and tools are written once and referred to by hash: a file grows with
 * what was said, not with its square.
 */

import { fingerprint } from "../../core/fingerprint.ts";
import { asArray, asObject, canonicalJson, type Json } from "../../core/json-value.ts";
import { printable } from "../../core/printable.ts";
import { type ReadOptions, readJsonl } from "./read-jsonl.ts";

/** Fields of a request that repeat from call to call. */
const shared = ["messages", "input", "tools", "prompt", "contents", "system"] as const;

/** Fields that differ between runs of the same program and say nothing about what is asked. */
const volatile = new Set(["user", "metadata", "safety_identifier", "prompt_cache_key", "service_tier", "store"]);

/** One line of a file of calls: a part that later lines refer to, or a call. */
export type CallLine = { part: string; value: unknown } | { exchange: unknown };

/** The key of a recorded request: what kind it is and what was asked. */
export function requestKey(kind: string, request: unknown): string {
  const body = asObject(request);
  const asked = body ? Object.fromEntries(Object.entries(body).filter(([key]) => !volatile.has(key))) : request;
  return fingerprint(`${kind}\n${canonicalJson(asked)}`);
}

/** Writes the calls of one file as lines. A part counts as written only once its write has succeeded. */
export function callEncoder() {
  const known = new Set<string>();
  return {
    /** Parts not written before, then the call with references to them. */
    linesOf: (call: { request: unknown }) => callLines(call, known),
    /** These lines are on disk: later calls may refer to their parts. */
    written(lines: readonly CallLine[]) {
      for (const line of lines) if ("part" in line) known.add(line.part);
    },
  };
}

function callLines(call: { request: unknown }, known: ReadonlySet<string>): CallLine[] {
  const lines: CallLine[] = [];
  const own = new Set<string>();
  const request = asObject(call.request);
  const packed: Json = { ...request };
  for (const key of shared) {
    if (!Array.isArray(request?.[key])) continue;
    packed[key] = {
      $parts: request[key].map((value: unknown) => {
        const part = fingerprint(JSON.stringify(value));
        if (!known.has(part) && !own.has(part)) lines.push({ part, value });
        own.add(part);
        return part;
      }),
    };
  }
  lines.push({ exchange: { ...call, request: request ? packed : call.request } });
  return lines;
}

/** The calls of one file, whole again. */
export async function* readCalls(file: string, options: ReadOptions = {}): AsyncGenerator<Json> {
  const parts = new Map<string, unknown>();
  for await (const line of readJsonl<Partial<{ part: string; value: unknown; exchange: unknown }>>(
    file,
    undefined,
    options,
  )) {
    if (typeof line.part === "string") parts.set(line.part, line.value);
    const call = asObject(line.exchange);
    if (!call) continue;
    const missing = fillParts(call, (part) => parts.get(part));
    if (missing === undefined) yield call;
    else tellMissing(file, missing, options);
  }
}

/** Puts the parts of a call in place of their names; returns the name of one that was never written. */
export function fillParts(call: Json, partValue: (part: string) => unknown): string | undefined {
  const request = asObject(call["request"]);
  for (const key of shared) {
    const references = asObject(request?.[key])?.["$parts"];
    if (!request || !references) continue;
    const values: unknown[] = [];
    for (const part of asArray(references).map(String)) {
      const value = partValue(part);
      if (value === undefined) return part;
      values.push(value);
    }
    request[key] = values;
  }
  return undefined;
}

/** A call whose words were lost (the file was cut) is left out, not read as a call without words. */
export function tellMissing(file: string, part: string, { onBad }: ReadOptions): void {
  const message = `a call refers to part ${part}, which was never written: the call is left out`;
  if (typeof onBad === "function") onBad({ file, line: 0, kind: "torn", message });
  else process.emitWarning(printable(`${file}: ${message}`));
}

/** Answers from recorded calls; `what` says what kind a call is and what it asked. */
export function replayOf<Call>(calls: readonly Call[], what: (call: Call) => { kind: string; request: unknown }) {
  const byKey = Map.groupBy(calls, (call) => requestKey(what(call).kind, what(call).request));
  const given = new Map<string, number>();
  return {
    /** The same request recorded several times is answered in the recorded order, then from the start again. */
    find(kind: string, request: unknown): Call | undefined {
      const key = requestKey(kind, request);
      const same = byKey.get(key);
      const turn = given.get(key) ?? 0;
      if (same) given.set(key, turn + 1);
      return same?.[turn % same.length];
    },
    /** What to say where nothing was found: the nearest recorded request and where it differs. */
    explainMiss(kind: string, request: unknown): string {
      const asked = canonicalJson(request);
      const recorded = calls
        .slice(-2000)
        .flatMap((call) => (what(call).kind === kind ? [canonicalJson(what(call).request)] : []));
      if (recorded.length === 0)
        return `this ${kind} request was never recorded: the recording holds no such requests at all`;
      const nearest = recorded.reduce((best, one) => (commonStart(asked, one) > commonStart(asked, best) ? one : best));
      const from = Math.max(0, commonStart(asked, nearest) - 60);
      const excerpt = (text: string) =>
        `${from > 0 ? "…" : ""}${text.slice(from, from + 180)}${text.length > from + 180 ? "…" : ""}`;
      return `this ${kind} request was never recorded. The nearest one differs: asked ${excerpt(asked)}, recorded ${excerpt(nearest)}`;
    },
  };
}

export type Replay<Call> = ReturnType<typeof replayOf<Call>>;

/** How many characters two texts begin with alike. */
function commonStart(a: string, b: string): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}
