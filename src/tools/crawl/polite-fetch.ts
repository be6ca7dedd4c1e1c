/**
 * A fetcher that does not overload hosts: few requests at a time per host, a pause between them, and robots.txt where
 * asked for.
 */

import { semaphore, sleep } from "../../base/work/limiter.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { CoaError } from "../../core/errors.ts";
import { decodeText } from "./decode-text.ts";
import { crawlerName, type FetchPage } from "./fetch-page.ts";
import { parseRobots, type RobotsRules } from "./robots.ts";

export interface PoliteOptions {
  /** Requests under way at once to one host. */
  perHost?: number;
  /** Between the starts of two requests to one host. */
  intervalMs?: number;
  /**
   * Read robots.txt first and respect it. A host whose robots.txt fails with 5xx is left alone, as the standard says.
   */
  robots?: boolean;
  crawler?: string;
  now?: () => number;
}

interface HostState {
  places: ReturnType<typeof semaphore>;
  nextStart: number;
  robots?: Promise<RobotsRules>;
}

/** Wraps a fetcher so that no host is asked too much. */
export function politeFetch(fetchPage: FetchPage, options: PoliteOptions = {}): FetchPage {
  const { perHost = 4, intervalMs = 0, robots = false, crawler = crawlerName, now = steadyNow } = options;
  const hosts = new Map<string, HostState>();

  async function rulesOf(origin: string, state: HostState, signal: AbortSignal): Promise<RobotsRules> {
    state.robots ??= fetchPage(`${origin}/robots.txt`, { signal }).then((page) => {
      if (page.status >= 500) return { isAllowed: () => false };
      return parseRobots(page.status >= 400 ? "" : decodeText(page.body, page.contentType), crawler);
    });
    state.robots.catch(() => {
      state.robots = undefined;
    });
    return state.robots;
  }

  return async (address, { signal }) => {
    const url = URL.parse(address);
    if (!url) return fetchPage(address, { signal });
    const state = hosts.get(url.host) ?? { places: semaphore(perHost), nextStart: 0 };
    hosts.set(url.host, state);
    let wait = intervalMs;
    if (robots) {
      const rules = await rulesOf(url.origin, state, signal);
      if (!rules.isAllowed(url.pathname + url.search))
        throw new CoaError("network", `the robots.txt of ${url.host} does not allow reading ${url.pathname}`);
      wait = Math.max(wait, Math.min(10_000, rules.crawlDelayMs ?? 0));
    }
    const release = await state.places.acquire(signal);
    try {
      if (wait > 0) {
        const start = Math.max(now(), state.nextStart);
        state.nextStart = start + wait;
        if (start > now()) await sleep(start - now(), signal);
      }
      return await fetchPage(address, { signal });
    } finally {
      release();
      if (state.places.held === 0 && !state.robots && state.nextStart <= now()) hosts.delete(url.host);
    }
  };
}
