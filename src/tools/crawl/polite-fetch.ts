/**
 * A fetcher that does not overload hosts: few requests at a time per host, a pause between them, and robots.txt where
 * asked for.
 */

import { setTimeout as pause } from "node:timers/promises";
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
  active: number;
  nextStart: number;
  waiting: (() => void)[];
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
    const state = hosts.get(url.host) ?? { active: 0, nextStart: 0, waiting: [] };
    hosts.set(url.host, state);
    let wait = intervalMs;
    if (robots) {
      const rules = await rulesOf(url.origin, state, signal);
      if (!rules.isAllowed(url.pathname + url.search))
        throw new CoaError("network", `the robots.txt of ${url.host} does not allow reading ${url.pathname}`);
      wait = Math.max(wait, Math.min(10_000, rules.crawlDelayMs ?? 0));
    }
    while (state.active >= perHost) await turn(state, signal);
    state.active++;
    try {
      if (wait > 0) {
        const start = Math.max(now(), state.nextStart);
        state.nextStart = start + wait;
        if (start > now()) await pause(start - now(), undefined, { signal });
      }
      return await fetchPage(address, { signal });
    } finally {
      state.active--;
      state.waiting.shift()?.();
      if (state.active === 0 && state.waiting.length === 0 && !state.robots && state.nextStart <= now())
        hosts.delete(url.host);
    }
  };
}

/** Waits until a request to the host ends. */
function turn(state: HostState, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      state.waiting = state.waiting.filter((other) => other !== go);
      reject(signal.reason);
    };
    const go = () => {
      signal.removeEventListener("abort", aborted);
      resolve();
    };
    if (signal.aborted) reject(signal.reason);
    else {
      signal.addEventListener("abort", aborted, { once: true });
      state.waiting.push(go);
    }
  });
}
