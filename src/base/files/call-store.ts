/**
 * Recorded calls: what was asked and what came back, written once and found again by what was asked. Evaluations that
 * run without a network, tests that run without a server and the replaying proxy all use it, with one key and one file
 * format. Calls repeat their history, so messages and tools are written once and referred to by hash: a file grows with
 * what was said, not with its square.
 */

import { CoaError } from "../../core/errors.ts";
import { fingerprint } from "../../core/fingerprint.ts";
import { asArray, asObject, canonicalJson, type Json } from "../../core/json-value.ts";
import { sharedWork } from "../work/shared-work.ts";
import { type JsonlWriter, openJsonl } from "./open-jsonl.ts";
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

/** Writes calls as lines. A part counts as written only once its write has succeeded. */
export interface CallEncoder {
  /** Parts not written before, then the call with references to them. */
  linesOf(call: { request: unknown }): CallLine[];
  /** These lines are on disk: later calls may refer to their parts. */
  written(lines: readonly CallLine[]): void;
}

/** An encoder for one file. */
export function callEncoder(): CallEncoder {
  const known = new Set<string>();
  return {
    linesOf: (call) => callLines(call, known),
    written(lines) {
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
  calls: for await (const line of readJsonl<Partial<{ part: string; value: unknown; exchange: unknown }>>(
    file,
    undefined,
    options,
  )) {
    if (typeof line.part === "string") parts.set(line.part, line.value);
    const call = asObject(line.exchange);
    if (!call) continue;
    const request = asObject(call["request"]);
    for (const key of shared) {
      const references = asObject(request?.[key])?.["$parts"];
      if (!request || !references) continue;
      const names = asArray(references).map(String);
      const missing = names.find((part) => !parts.has(part));
      if (missing !== undefined) {
        tellMissing(file, missing, options);
        continue calls;
      }
      request[key] = names.map((part) => parts.get(part));
    }
    yield call;
  }
}

/** A call whose words were lost (the file was cut) is left out, not read as a call without words. */
function tellMissing(file: string, part: string, { onBad }: ReadOptions): void {
  const message = `a call refers to part ${part}, which was never written: the call is left out`;
  if (typeof onBad === "function") onBad({ file, line: 0, kind: "torn", message });
  else process.emitWarning(`${file}: ${message}`);
}

/** Finds recorded calls. */
export interface Replay<Call> {
  readonly size: number;
  add(call: Call): void;
  /** The same request recorded several times is answered in the recorded order, then from the start again. */
  find(kind: string, request: unknown): Call | undefined;
  /** What to say where nothing was found: the nearest recorded request and where it differs. */
  explainMiss(kind: string, request: unknown): string;
}

/** A replay of calls; `what` says what kind a call is and what it asked. */
export function replayOf<Call>(
  calls: Iterable<Call>,
  what: (call: Call) => { kind: string; request: unknown },
): Replay<Call> {
  const all: Call[] = [];
  const byKey = new Map<string, { list: Call[]; next: number }>();
  const replay: Replay<Call> = {
    get size() {
      return all.length;
    },
    add(call) {
      const { kind, request } = what(call);
      const key = requestKey(kind, request);
      const entry = byKey.get(key) ?? { list: [], next: 0 };
      entry.list.push(call);
      byKey.set(key, entry);
      all.push(call);
    },
    find(kind, request) {
      const entry = byKey.get(requestKey(kind, request));
      return entry?.list[entry.next++ % entry.list.length];
    },
    explainMiss(kind, request) {
      let nearest: unknown;
      let best = -1;
      for (const call of all.slice(-2000)) {
        const one = what(call);
        const score = similarity(request, one.request) + (one.kind === kind ? 1000 : 0);
        if (score > best) [best, nearest] = [score, one.request];
      }
      if (best < 1000) return `this ${kind} request was never recorded: the recording holds no such requests at all`;
      return `this ${kind} request was never recorded. The nearest one differs: ${differences(request, nearest).join("; ")}`;
    },
  };
  for (const call of calls) replay.add(call);
  return replay;
}

export interface CallStoreOptions {
  /** `auto`: what is there is not asked again, the rest is asked and kept. `record`: always ask. `replay`: never ask. */
  mode?: "auto" | "record" | "replay";
}

/** A file of recorded calls. */
export interface CallStore {
  /** The recorded answer, or what `work` returns, which is then recorded. A call that fails is not recorded. */
  remember<T>(kind: string, request: unknown, work: () => Promise<T>): Promise<T>;
  readonly hits: number;
  readonly misses: number;
  close(): Promise<void>;
}

interface KeptCall {
  version: 1;
  kind: string;
  request: unknown;
  answer: unknown;
}

/** Opens a file of calls, or without a file a store in memory. */
export async function openCallStore(file?: string, options: CallStoreOptions = {}): Promise<CallStore> {
  const { mode = "auto" } = options;
  const calls: KeptCall[] = [];
  if (file !== undefined && mode !== "record") {
    for await (const { kind, request, answer } of readCalls(file))
      if (typeof kind === "string") calls.push({ version: 1, kind, request, answer });
  }
  const replay = replayOf<KeptCall>(calls, (call) => call);
  const share = sharedWork<unknown>();
  const encoder = callEncoder();
  let writer: Promise<JsonlWriter<CallLine>> | undefined;
  let hits = 0;
  let misses = 0;

  async function keep(call: KeptCall): Promise<void> {
    if (mode === "auto") replay.add(structuredClone(call));
    if (file === undefined) return;
    writer ??= openJsonl<CallLine>(file);
    const open = await writer;
    const lines = encoder.linesOf(call);
    await open.appendAll(lines);
    encoder.written(lines);
  }

  return {
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    async remember<T>(kind: string, request: unknown, work: () => Promise<T>): Promise<T> {
      const found = mode === "record" ? undefined : replay.find(kind, request);
      if (found) {
        hits++;
        return structuredClone(found.answer) as T;
      }
      if (mode === "replay")
        throw new CoaError("model", `${file ?? "recorded calls"}: ${replay.explainMiss(kind, request)}`);
      const ask = async () => {
        misses++;
        const answer = await work();
        await keep({ version: 1, kind, request, answer });
        return answer;
      };
      return mode === "auto" ? (structuredClone(await share(requestKey(kind, request), ask)) as T) : ask();
    },
    async close() {
      await (await writer)?.close();
    },
  };
}

/** 1 for equal values, for texts the share of a common beginning. */
function alike(a: unknown, b: unknown): number {
  if (canonicalJson(a) === canonicalJson(b)) return 1;
  return typeof a === "string" && typeof b === "string" ? commonStart(a, b) / Math.max(a.length, b.length) : 0;
}

function commonStart(a: string, b: string): number {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}

/** How many leading messages and how many fields two requests share. */
function similarity(a: unknown, b: unknown): number {
  const left = asObject(a) ?? {};
  const right = asObject(b) ?? {};
  const fields = Object.keys(left).reduce((sum, key) => sum + alike(left[key], right[key]), 0);
  const [x, y] = [partsOf(left), partsOf(right)];
  let same = 0;
  while (same < Math.min(x.length, y.length) && canonicalJson(x[same]) === canonicalJson(y[same])) same++;
  return fields + same * 2 - Math.abs(x.length - y.length) * 0.1;
}

function partsOf(request: Json): unknown[] {
  return asArray(request["messages"] ?? request["input"] ?? request["contents"] ?? request["prompt"]);
}

function differences(a: unknown, b: unknown): string[] {
  const left = asObject(a) ?? {};
  const right = asObject(b) ?? {};
  const found: string[] = [];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const [x, y] = [left[key], right[key]];
    if (canonicalJson(x) === canonicalJson(y)) continue;
    if (!Array.isArray(x) || !Array.isArray(y)) {
      found.push(difference(key, x, y));
      continue;
    }
    const at = x.findIndex((item, index) => canonicalJson(item) !== canonicalJson(y[index]));
    if (at === -1 || at >= y.length) found.push(`${key}: ${x.length} items, recorded ${y.length}`);
    else found.push(difference(`${key}[${at}]`, x[at], y[at]));
  }
  return found;
}

/** Two values from shortly before the place where they differ. */
function difference(key: string, asked: unknown, recorded: unknown): string {
  const [x, y] = [textOf(asked), textOf(recorded)];
  const from = Math.max(0, commonStart(x, y) - 30);
  const excerpt = (text: string) =>
    `${from > 0 ? "…" : ""}${text.slice(from, from + 110)}${text.length > from + 110 ? "…" : ""}`;
  return `${key}: asked ${excerpt(x)}, recorded ${excerpt(y)}`;
}

function textOf(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
