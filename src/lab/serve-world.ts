/** A world over real HTTP on the loopback interface: for the crawler, and for people with a browser. */

import { listen } from "../base/http/listen.ts";
import type { World } from "./create-world.ts";
import { htmlAt } from "./world-pages.ts";

export interface ServedWorld {
  /** `http://127.0.0.1:PORT`. */
  base: string;
  /** `127.0.0.1:PORT`, for a crawler's list of hosts it may reach. */
  host: string;
  close(): Promise<void>;
}

/** Serves a world's pages on 127.0.0.1; port 0 (the default) takes any free one. */
export async function serveWorld(world: World, options: { port?: number } = {}): Promise<ServedWorld> {
  const { origin, close } = await listen(async ({ path }, reply) => {
    const html = htmlAt(world, path);
    const content = html ?? "<!doctype html><title>Not found</title><p>No such page.</p>";
    reply.send(html === null ? 404 : 200, content, { "content-type": "text/html; charset=utf-8" });
  }, options);
  return { base: origin, host: new URL(origin).host, close };
}
