/** The tools of a lab world as users have them: pages over HTTP on loopback, programs in a sandbox. */

import { listen } from "../base/http/listen.ts";
import type { Sandbox } from "../core/sandbox.ts";
import type { Tool } from "../core/tool.ts";
import { codeTool } from "../tools/code.ts";
import { crawlPage } from "../tools/crawl/crawl-page.ts";
import { pageFetcher } from "../tools/crawl/fetch-page.ts";
import { compactTools } from "./compact-tools.ts";
import type { World } from "./create-world.ts";
import { labSearch } from "./memory-lab-tools.ts";
import { htmlAt, servedFetch } from "./world-pages.ts";

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

/** Serves a world's pages at `base`, on 127.0.0.1; `host` is for a crawler's list of hosts. */
export async function serveWorld(world: World) {
  const { origin, close } = await listen(async ({ path }, reply) => {
    const html = htmlAt(world, path);
    const content = html ?? "<!doctype html><title>Not found</title><p>No such page.</p>";
    reply.send(html === null ? 404 : 200, content, { "content-type": "text/html; charset=utf-8" });
  });
  return { base: origin, host: new URL(origin).host, close };
}
