/**
 * The flow of a program through its model calls: each call that a recorder inside the process saw names the call whose
 * reply the calling code had seen last. Content says which calls fit together; the flow says which of them is meant.
 */
import type { RecordedCall } from "./recorded-call.ts";

/** The ids of the calls before a call in its flow, nearest first; empty where no recorder followed it. */
export type CallFlow = (call: RecordedCall) => Iterable<string>;

/** The furthest that a flow is followed: a server that runs for weeks is one flow. */
const maxHops = 10_000;

/** Reads the flow of calls, failed tries among them. */
export function callFlow(calls: readonly RecordedCall[]): CallFlow {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return function* ancestors(call) {
    const open = causesOf(call);
    const seen = new Set(open);
    for (let hops = 0; hops < open.length && hops < maxHops; hops++) {
      yield open[hops]!;
      const before = byId.get(open[hops]!);
      for (const id of before ? causesOf(before) : []) {
        if (seen.has(id)) continue;
        seen.add(id);
        open.push(id);
      }
    }
  };
}

/** The calls whose replies a call comes after: one, or several where branches come together. */
export function causesOf({ after, joins = [] }: RecordedCall): string[] {
  return after === undefined ? [] : [after, ...joins];
}

/** Whether two calls were made for different incoming requests. */
export function isApart(a: RecordedCall, b: RecordedCall): boolean {
  return a.root !== undefined && b.root !== undefined && a.root !== b.root;
}

/** Of several that fit, those that are nearest in the flow; undefined where the flow holds none of them. */
export function nearestInFlow<T>(
  call: RecordedCall,
  flow: CallFlow,
  fitting: readonly T[],
  callIdOf: (one: T) => string,
): T[] | undefined {
  if (call.after === undefined || fitting.length === 0) return undefined;
  const byId = Map.groupBy(fitting, callIdOf);
  for (const id of flow(call)) {
    const found = byId.get(id);
    if (found) return found;
  }
  return undefined;
}

/** Finds the calls that came after no reply: a recorder inside the process knows it where it followed the program at all. */
export function firstInFlow(calls: readonly RecordedCall[]): (call: RecordedCall) => boolean {
  const followed = calls.some((call) => call.after !== undefined);
  return (call) => followed && call.recorder === "preload" && call.after === undefined;
}
