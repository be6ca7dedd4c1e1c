/** The faults that the lab trains and measures with: searches that find nothing, or that time out. */
import type { FaultPlan } from "../tools/with-faults.ts";

/** Every search finds nothing with this probability (0.4 where it is measured), decided by chain and call. */
export function failingSearches(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "empty", rate, tools: ["web_search"] }] };
}

/** Every search times out with this probability, decided by chain and call. */
function searchesThatTimeOut(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "timeout", rate, tools: ["web_search"] }] };
}

/** Faults by name, with the words for them in a report. */
export const disturbances = {
  empty: { plan: failingSearches, says: "searches find nothing" },
  timeouts: { plan: searchesThatTimeOut, says: "searches time out" },
} as const;
