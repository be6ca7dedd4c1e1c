/** A call that failed and was sent again is one call: the tries before the last are left out, and counted. */
import { fingerprint } from "../core/fingerprint.ts";
import { canonicalJson } from "../core/json-value.ts";
import { addTo, type RecordedCall } from "./recorded-call.ts";

/** The calls without failed tries that a later call repeated; each such call has a note of how many there were. */
export function withoutRetries(calls: readonly RecordedCall[]): RecordedCall[] {
  if (!calls.some(isFailure)) return [...calls];
  const sorted = calls.toSorted((a, b) => a.startedAt - b.startedAt);
  const byRequest = new Map<string, RecordedCall[]>();
  for (const call of sorted) addTo(byRequest, requestKey(call), call);
  const repeatedBy = new Map<RecordedCall, RecordedCall>();
  const taken = new Set<RecordedCall>();
  for (const same of byRequest.values()) {
    for (const [index, call] of same.entries()) {
      if (!isFailure(call)) continue;
      // Clocks of client and server differ a little: a repeat may seem to begin before the failure was written.
      const next = same.slice(index + 1).find((one) => !taken.has(one) && one.startedAt >= call.startedAt);
      if (!next) continue;
      taken.add(next);
      repeatedBy.set(call, next);
    }
  }
  const tries = new Map<RecordedCall, string[]>();
  for (const call of repeatedBy.keys()) {
    let last = call;
    for (let next = repeatedBy.get(last); next; next = repeatedBy.get(last)) last = next;
    addTo(tries, last, call.id);
  }
  return sorted
    .filter((call) => !repeatedBy.has(call))
    .map((call) => {
      const failed = tries.get(call);
      if (!failed) return call;
      return {
        ...call,
        tries: failed,
        notes: [...(call.notes ?? []), "calls that failed and were sent again are counted once"],
      };
    });
}

/** It brought nothing that the client could have used. */
function isFailure(call: RecordedCall): boolean {
  return call.error !== undefined;
}

function requestKey(call: RecordedCall): string {
  const { runId, agent, model: _model, messages, tools, settings, previousResponseId } = call;
  return fingerprint(canonicalJson([runId, agent?.id, messages, tools, settings, previousResponseId]));
}
