/**
 * The tools of a lab world, put together from the real parts: the local search index, the crawler, and a code tool.
 * `memory` reads pages and computes in this process (the same index, the same extraction, no sockets) and is meant for
 * bulk data; `real` serves the world over HTTP and runs programs in a sandbox, and is what numbers are measured with.
 */
import type { Sandbox } from "../../core/sandbox.ts";
import type { Tool } from "../../core/tool.ts";
import { arithmeticTool } from "../../lab/arithmetic-tool.ts";
import { compactTools } from "../../lab/compact-tools.ts";
import type { World } from "../../lab/create-world.ts";
import { serveWorld } from "../../lab/serve-world.ts";
import { memoryFetch, servedFetch } from "../../lab/world-fetch.ts";
import { worldDocuments } from "../../lab/world-pages.ts";
import { codeTool } from "../../tools/code.ts";
import { crawlPage } from "../../tools/crawl/crawl-page.ts";
import { pageFetcher } from "../../tools/crawl/fetch-page.ts";
import { buildIndex } from "../../tools/local-index/build-index.ts";
import { indexProvider } from "../../tools/search/index-provider.ts";
import { webSearch } from "../../tools/search/web-search.ts";

export interface LabTools {
  tools: Tool[];
  close(): Promise<void>;
}

/** In this process, without sockets: for thousands of runs a minute. */
export function memoryLabTools(world: World): Tool[] {
  return compactTools([search(world), crawlPage({ fetchPage: memoryFetch(world) }), arithmeticTool()]);
}

/** Over real HTTP on loopback, with programs in the given sandbox. */
export async function realLabTools(world: World, sandbox: Sandbox): Promise<LabTools> {
  const site = await serveWorld(world);
  const fetcher = pageFetcher({ allowHosts: [new URL(site.base).host] });
  const tools = [
    search(world),
    crawlPage({ fetchPage: servedFetch(site.base, fetcher.fetchPage) }),
    codeTool({ sandbox }),
  ];
  return {
    tools: compactTools(tools),
    async close() {
      await fetcher.close();
      await site.close();
    },
  };
}

function search(world: World): Tool {
  const index = buildIndex(worldDocuments(world), { titleBoost: 3 });
  return webSearch({ provider: indexProvider(index), count: 3 });
}
