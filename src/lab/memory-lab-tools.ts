/**
 * The tools of a lab world within this process: the same index and the same page extraction as the real ones, without
 * sockets or sandboxes. Meant for bulk data; numbers are measured with `realLabTools`.
 */
import type { Tool } from "../core/tool.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { buildIndex } from "../tools/local-index/build-index.ts";
import { indexProvider } from "../tools/search/index-provider.ts";
import { webSearch } from "../tools/search/web-search.ts";
import type { FaultPlan } from "../tools/with-faults.ts";
import { arithmeticTool } from "./arithmetic-tool.ts";
import { compactTools } from "./compact-tools.ts";
import type { World } from "./create-world.ts";
import { memoryFetch } from "./world-fetch.ts";
import { worldDocuments, worldIndexOptions } from "./world-pages.ts";

/** Search, pages and sums of a world, for thousands of runs a minute. */
export function memoryLabTools(world: World): Tool[] {
  return compactTools([labSearch(world), crawlPage({ fetchPage: memoryFetch(world) }), arithmeticTool()]);
}

/** The search tool over a world's pages: titles count most, three results. */
export function labSearch(world: World): Tool {
  const index = buildIndex(worldDocuments(world), worldIndexOptions);
  return webSearch({ provider: indexProvider(index), count: 3 });
}

/** Every search finds nothing with this probability (0.4 where it is measured), decided by chain and call. */
export function failingSearches(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "empty", rate, tools: ["web_search"] }] };
}

/** Every search times out with this probability, decided by chain and call. */
function searchesThatTimeOut(seed: number, rate = 0.4): FaultPlan {
  return { seed, faults: [{ kind: "timeout", rate, tools: ["web_search"] }] };
}

/** Faults by name. */
export const disturbances = { empty: failingSearches, timeouts: searchesThatTimeOut } as const;
