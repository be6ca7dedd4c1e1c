/** The tools of a lab world as users have them: pages over HTTP on loopback, programs in a sandbox. */
import type { Sandbox } from "../core/sandbox.ts";
import type { Tool } from "../core/tool.ts";
import { codeTool } from "../tools/code.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { pageFetcher } from "../tools/crawl/fetch-page.ts";
import { compactTools } from "./compact-tools.ts";
import type { World } from "./create-world.ts";
import { labSearch } from "./memory-lab-tools.ts";
import { serveWorld } from "./serve-world.ts";
import { servedFetch } from "./world-fetch.ts";

export interface LabTools {
  tools: Tool[];
  close(): Promise<void>;
}

/** Serves the world and gives the tools that reach it. */
export async function realLabTools(world: World, sandbox: Sandbox): Promise<LabTools> {
  const site = await serveWorld(world);
  const fetcher = pageFetcher({ allowHosts: [site.host] });
  const crawl = crawlPage({ fetchPage: servedFetch(site.base, fetcher.fetchPage) });
  return {
    tools: compactTools([labSearch(world), crawl, codeTool({ sandbox })]),
    async close() {
      await fetcher.close();
      await site.close();
    },
  };
}
