/**
 * The tools of a lab world within this process: the same index and the same page extraction as the real ones, without
 * sockets or sandboxes. Meant for bulk data; numbers are measured with `realLabTools`.
 */
import type { Tool } from "../core/tool.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { buildIndex } from "../tools/local-index/build-index.ts";
import { indexProvider } from "../tools/search/index-provider.ts";
import { webSearch } from "../tools/search/web-search.ts";
import type { Fault, FaultPlan } from "../tools/with-faults.ts";
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

const searchesThat =
  (kind: Fault["kind"]) =>
  (seed: number, rate = 0.4): FaultPlan => ({ seed, faults: [{ kind, rate, tools: ["web_search"] }] });

/** Faults by name: every search finds nothing, or times out, with a probability (0.4 where it is measured), by chain and call. */
export const disturbances = { empty: searchesThat("empty"), timeouts: searchesThat("timeout") } as const;
