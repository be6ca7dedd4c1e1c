/** A world over real HTTP on the loopback interface: for the crawler, and for people with a browser. */

import { listen } from "../base/http/listen.ts";
import type { World } from "./create-world.ts";
import { htmlAt } from "./world-pages.ts";

export interface ServedWorld {
  /** `http://127.0.0.1:PORT`. */
  base: string;
  /** `127.0.0.1:PORT`, for a crawler's list of hosts it may reach. */
  host: string;
  /** Requests answered so far. */
  requests(): number;
  close(): Promise<void>;
}

/** Serves a world's pages on 127.0.0.1; port 0 (the default) takes any free one. */
export async function serveWorld(world: World, options: { port?: number } = {}): Promise<ServedWorld> {
  let requests = 0;
  const pages = new Map<string, Buffer | null>();
  const { origin, close } = await listen(async ({ path }, reply) => {
    requests++;
    let body = pages.get(path);
    if (body === undefined) {
      const html = htmlAt(world, path);
      body = html === null ? null : Buffer.from(html);
      // Only pages that exist are kept: strangers could ask for endless other paths.
      if (body) pages.set(path, body);
    }
    const content = body ?? "<!doctype html><title>Not found</title><p>No such page.</p>";
    reply.send(body ? 200 : 404, content, { "content-type": "text/html; charset=utf-8" });
  }, options);
  return { base: origin, host: new URL(origin).host, requests: () => requests, close };
}
