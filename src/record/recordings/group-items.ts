/**
 * The runs of lines that were read: wire calls and traces of the same calls joined, imported runs beside them. Each group
 * names what later lines may refer to it by, so that a conversation that goes on after a day finds its beginning again.
 */
import { isPlaceId } from "../../base/wire/call-ids.ts";
import { asObject, objectsOf } from "../../core/json-value.ts";
import type { TeamRun } from "../../core/team-run.ts";
import { fetchedId } from "../background.ts";
import { callGroups } from "../calls-to-runs.ts";
import { addTo, type RecordedCall } from "../recorded-call.ts";
import { outputOf, resolveItems } from "../resolve-items.ts";
import { traceGroups } from "../spans-to-runs.ts";
import { traceIdsOf, tracesToSpans } from "../trace-log.ts";
import { exchangeToCall, type WireExchange } from "../wire-exchange.ts";
import { type Item, timeOf } from "./log-items.ts";

/** A line that waits for others; of a payload, with the traces in it whose runs are not done. */
export interface HeldItem extends Item {
  traces?: Set<string>;
}

/** Lines that belong together and the runs that they are. */
export interface Group {
  items: HeldItem[];
  /** The trace that it is, where it is one: its payloads may hold others. */
  traceId?: string;
  /** It is a trace without a model call. */
  bare?: boolean;
  runs: TeamRun[];
  endedAt: number;
  /** A tool of it has not answered: an agent may still be at work. */
  waits: boolean;
  /** What later lines may refer to it by. */
  keys: string[];
}

/** Calls read once: groups are made several times while lines wait. */
const calls = new WeakMap<WireExchange, RecordedCall>();

function callOf(exchange: WireExchange): RecordedCall | undefined {
  const known = calls.get(exchange) ?? exchangeToCall(exchange);
  if (known) calls.set(exchange, known);
  return known;
}

/** A line that can be part of a run, ready to wait; undefined for embeddings and empty payloads. */
export function holdItem(item: Item): HeldItem | undefined {
  if (item.record) {
    const traces = traceIdsOf(item.record);
    return traces.size > 0 ? { ...item, traces } : undefined;
  }
  if (!item.exchange) return item;
  return callOf(item.exchange) || fetchedId("GET", item.exchange.path) !== undefined ? item : undefined;
}

/** The groups of lines, in no order. */
export function groupItems(items: readonly HeldItem[]): Group[] {
  const byCall = new Map<string, HeldItem[]>();
  const byTrace = new Map<string, HeldItem[]>();
  const exchanges: WireExchange[] = [];
  const groups: Group[] = [];
  for (const item of items) {
    if (item.exchange) {
      exchanges.push(item.exchange);
      addTo(byCall, fetchedId("GET", item.exchange.path) ?? item.exchange.id, item);
    }
    for (const traceId of item.traces ?? []) addTo(byTrace, traceId, item);
    if (item.run) groups.push({ items: [item], runs: [item.run], endedAt: timeOf(item), waits: false, keys: [] });
  }
  const wire = new Set(resolveItems(exchanges).flatMap((exchange) => callOf(exchange) ?? []));
  const records = items.flatMap(({ record }) => record ?? []);
  const spans = tracesToSpans(records).filter(({ traceId }) => byTrace.has(traceId));
  const held = (used: readonly RecordedCall[]) =>
    used
      .flatMap(({ id, tries = [], responseId = "" }) => [id, ...tries, responseId])
      .flatMap((id) => byCall.get(id) ?? []);
  for (const { traceId, bare, runs, calls: used } of traceGroups(spans, "collector", wire)) {
    const own = [...(byTrace.get(traceId) ?? []), ...held(used)];
    groups.push({ ...groupOf(own, runs, used), traceId, bare, keys: [`trace ${traceId}`, ...used.flatMap(givenKeys)] });
  }
  for (const { runs, calls: used } of callGroups([...wire], "proxy")) groups.push(groupOf(held(used), runs, used));
  // Tries that nothing repeated and answers whose request was never seen are of no run.
  const placed = new Set(groups.flatMap((group) => group.items));
  for (const item of items) if (!placed.has(item) && !item.traces) groups.push(groupOf([item], [], []));
  return groups;
}

function groupOf(own: readonly HeldItem[], runs: TeamRun[], used: readonly RecordedCall[]): Group {
  const items = [...new Set(own)];
  const isOpen = (run: TeamRun) =>
    run.steps.some(({ toolCalls }) =>
      toolCalls.some(({ result, error }) => result === undefined && error === undefined),
    );
  const endedAt = items.reduce((latest, item) => Math.max(latest, timeOf(item)), 0);
  const keys = [...used.flatMap(givenKeys), ...items.flatMap(({ exchange }) => (exchange ? itemKeys(exchange) : []))];
  return { items, runs, endedAt, waits: runs.some(isOpen), keys: [...new Set(keys)] };
}

/** What later calls may refer to a call by. */
function givenKeys(call: RecordedCall): string[] {
  const { id, toolCalls, text, others = [] } = call;
  const replies = [{ text, toolCalls }, ...others];
  return [
    `call ${id}`,
    ...serverKeys(call.runId ?? call.scope ?? call.root, call.responseId, call.conversation),
    ...replies.flatMap((reply) => replyKeys(call, reply.text, reply.toolCalls)),
  ];
}

/** What a line refers to: its group must be looked at together with it. */
export function wantedKeys({ exchange, traces, record }: HeldItem): string[] {
  if (record) {
    const spans = tracesToSpans([record]).flatMap(({ call }) => call ?? []);
    const answers = spans.flatMap(({ responseId, toolCalls = [] }) => [
      ...serverKeys(undefined, responseId),
      ...toolCalls.map(({ id }) => `tool ${id}`),
    ]);
    return [...[...traces!].map((traceId) => `trace ${traceId}`), ...answers];
  }
  const call = exchange && callOf(exchange);
  if (!call) return exchange ? serverKeys(undefined, fetchedId("GET", exchange.path)) : [];
  const input = objectsOf(asObject(exchange.request)?.["input"]);
  return [
    ...(call.after === undefined ? [] : [call.after, ...(call.joins ?? [])]).map((id) => `call ${id}`),
    ...serverKeys(call.runId ?? call.scope ?? call.root, call.previousResponseId, call.conversation),
    ...input.flatMap(({ type, id }) => (type === "item_reference" ? [`item ${id}`] : [])),
    ...call.messages
      .filter(({ role }) => role === "assistant")
      .slice(-2)
      .flatMap(({ content, toolCalls = [] }) => replyKeys(call, content, toolCalls)),
  ];
}

function serverKeys(runId?: string, responseId?: string, conversation?: string): string[] {
  return [
    ...(runId === undefined ? [] : [`run ${runId}`]),
    ...(responseId === undefined ? [] : [`response ${responseId}`]),
    ...(conversation === undefined ? [] : [`conversation ${conversation}`]),
  ];
}

/** A reply as a later history repeats it: by the ids of its calls, or by its words after the same question. */
function replyKeys(call: RecordedCall, text: string, toolCalls: readonly { id: string }[]): string[] {
  const ids = toolCalls.filter(({ id }) => id !== "" && !isPlaceId(id)).map(({ id }) => `tool ${id}`);
  if (ids.length > 0 || text.trim() === "") return ids;
  const first = call.messages.find(({ role }) => role === "user")?.content ?? "";
  return [`text ${first}\n${text.trim()}`];
}

/** The items of a Responses answer, which later requests may only point at. */
function itemKeys(exchange: WireExchange): string[] {
  if (!/\/responses(?:\?|$)/.test(exchange.path)) return [];
  return outputOf(exchange).map(({ id }) => `item ${id}`);
}
