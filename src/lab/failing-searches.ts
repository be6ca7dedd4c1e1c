/** The disturbance that the lab measures by: searches that find nothing. */
import type { FaultPlan } from "../tools/with-faults.ts";

/** Every search finds nothing with this probability (0.4 where it is measured), decided by chain and call. */
export function failingSearches(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "empty", rate, tools: ["web_search"] }] };
}
