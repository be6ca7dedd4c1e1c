/** The disturbances that the lab practises with and measures by: searches that find nothing, pages that do not answer. */
import type { FaultPlan } from "../tools/with-faults.ts";

/** Every search finds nothing with this probability (0.4 where it is measured), decided by chain and call. */
export function failingSearches(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "empty", rate, tools: ["web_search"] }] };
}

/** Every page fails to answer with this probability, decided by chain and call. */
export function failingPages(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "timeout", rate, tools: ["crawl_page"] }] };
}

/** Disturbances by name, with the words that a report has for them. */
export const disturbances = {
  searches: { plan: failingSearches, says: "searches find nothing" },
  pages: { plan: failingPages, says: "pages do not answer" },
} as const;
