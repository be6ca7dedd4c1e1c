/**
 * The tools of a lab world within this process: the same index and the same page extraction as the real ones, without
 * sockets or sandboxes. Meant for bulk data; numbers are measured with `realLabTools`.
 */

import { UsageError } from "../core/errors.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { buildIndex } from "../tools/local-index/build-index.ts";
import { indexProvider } from "../tools/search/index-provider.ts";
import { webSearch } from "../tools/search/web-search.ts";
import type { Fault, FaultPlan } from "../tools/with-faults.ts";
import { arithmeticTool } from "./arithmetic-tool.ts";
import { compactTools } from "./compact-tools.ts";
import { createWorld, type World } from "./create-world.ts";
import { memoryFetch, worldDocuments, worldIndexOptions } from "./world-pages.ts";

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

/** How many worlds stay in memory: tasks of one world usually come together. */
const keptWorlds = 8;

/**
 * Tools in memory of the task's own world; `home` is the world of tasks that name none; `wrap` may make them fail or
 * limit them.
 */
export function labToolsByTask(home?: World, wrap: (tools: Tool[]) => Tool[] = (tools) => tools) {
  const known = new Map<string, Tool[]>();
  return ({ world: origin, id }: Task): Tool[] => {
    if (origin === undefined && home === undefined)
      throw new UsageError(
        `this model was taught with the tools of the lab's made-up worlds, and the task ${id} is not from one: name a world with --lab <seed>, or take a real model (--model <folder or name>, --base-url <url> or OPENAI_BASE_URL)`,
      );
    const key = JSON.stringify(origin ?? null);
    const tools = known.get(key) ?? wrap(memoryLabTools(origin === undefined ? home! : createWorld(origin)));
    known.delete(key);
    known.set(key, tools);
    if (known.size > keptWorlds) known.delete(known.keys().next().value!);
    return tools;
  };
}
