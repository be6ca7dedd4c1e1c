/**
 * Answers requests from a recording. The same request recorded several times is answered in the recorded order, then
 * from the start again, so that a second pass of the same program works. A request that was never recorded fails loudly
 * and is shown beside the nearest one that was.
 */

import { asArray, asObject, asText, canonicalJson } from "../../base/wire/json-value.ts";
import { replayKey } from "../call-log.ts";
import type { WireExchange } from "../wire-exchange.ts";

export interface Replay {
  readonly size: number;
  find(path: string, request: unknown): WireExchange | { miss: string };
}

/** Makes a replay of exchanges that ended well or with an answer from the server. */
export function createReplay(exchanges: readonly WireExchange[]): Replay {
  const usable = exchanges.filter(
    ({ outcome, truncated }) => !truncated && (outcome === "complete" || outcome === "upstream-error"),
  );
  const byKey = new Map<string, { list: WireExchange[]; next: number }>();
  for (const exchange of usable) {
    if (exchange.status === 0) continue;
    const key = replayKey(exchange.path, exchange.request);
    const entry = byKey.get(key) ?? { list: [], next: 0 };
    entry.list.push(exchange);
    byKey.set(key, entry);
  }
  return {
    size: usable.length,
    find(path, request) {
      const entry = byKey.get(replayKey(path, request));
      if (entry) return entry.list[entry.next++ % entry.list.length]!;
      return { miss: explainMiss(path, request, usable) };
    },
  };
}

function explainMiss(path: string, request: unknown, exchanges: readonly WireExchange[]): string {
  if (exchanges.length === 0) return "this request was never recorded: the recording is empty";
  let nearest = exchanges[0]!;
  let best = -1;
  for (const exchange of exchanges.slice(-2000)) {
    const score = likeness(request, exchange.request) + (exchange.path === path ? 0.5 : 0);
    if (score > best) [best, nearest] = [score, exchange];
  }
  return `this request was never recorded. The nearest one (${nearest.id}) differs: ${differences(request, nearest.request).join("; ")}`;
}

/** How many leading messages and how many fields two requests share. */
function likeness(a: unknown, b: unknown): number {
  const left = asObject(a) ?? {};
  const right = asObject(b) ?? {};
  const fields = Object.keys(left).filter((key) => canonicalJson(left[key]) === canonicalJson(right[key])).length;
  const [x, y] = [messagesOf(left), messagesOf(right)];
  let same = 0;
  while (same < Math.min(x.length, y.length) && canonicalJson(x[same]) === canonicalJson(y[same])) same++;
  return fields + same * 2 - Math.abs(x.length - y.length) * 0.1;
}

function differences(a: unknown, b: unknown): string[] {
  const left = asObject(a) ?? {};
  const right = asObject(b) ?? {};
  const found: string[] = [];
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (canonicalJson(left[key]) === canonicalJson(right[key])) continue;
    if (key !== "messages" && key !== "input") {
      found.push(`${key}: asked ${show(left[key])}, recorded ${show(right[key])}`);
      continue;
    }
    const [x, y] = [messagesOf(left), messagesOf(right)];
    const at = x.findIndex((message, index) => canonicalJson(message) !== canonicalJson(y[index]));
    const index = at === -1 ? x.length : at;
    found.push(`${key}[${index}]: asked ${show(x[index])}, recorded ${show(y[index])}`);
  }
  return found.slice(0, 6);
}

function messagesOf(body: Record<string, unknown>): unknown[] {
  return Array.isArray(body["messages"]) ? body["messages"] : asArray(body["input"]);
}

function show(value: unknown): string {
  const text = value === undefined ? "nothing" : asText(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
