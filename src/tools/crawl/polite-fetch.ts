/**
 * A fetcher that does not overload hosts: few requests at a time per host, a pause between them, and robots.txt where
 * asked for.
 */
import { semaphore, sleep } from "../../base/work/limiter.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import { CoaError } from "../../core/errors.ts";
import { decodeText } from "./decode-text.ts";
import { crawlerName, type FetchPage } from "./fetch-page.ts";

export interface PoliteOptions {
  /** Requests under way at once to one host. */
  perHost?: number;
  /** Between the starts of two requests to one host. */
  intervalMs?: number;
  /**
   * Read robots.txt first and respect it. A host whose robots.txt fails with 5xx is left alone, as the standard says.
   */
  robots?: boolean;
  now?: () => number;
}

interface HostState {
  places: ReturnType<typeof semaphore>;
  nextStart: number;
  robots?: Promise<RobotsRules>;
}

/** Wraps a fetcher so that no host is asked too much. */
export function politeFetch(fetchPage: FetchPage, options: PoliteOptions = {}): FetchPage {
  const { perHost = 4, intervalMs = 0, robots = false, now = steadyNow } = options;
  const hosts = new Map<string, HostState>();

  async function rulesOf(origin: string, state: HostState, signal: AbortSignal): Promise<RobotsRules> {
    state.robots ??= fetchPage(`${origin}/robots.txt`, { signal }).then((page) => {
      if (page.status >= 500) return { isAllowed: () => false };
      return parseRobots(page.status >= 400 ? "" : decodeText(page.body, page.contentType), crawlerName);
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

export interface RobotsRules {
  isAllowed(path: string): boolean;
  crawlDelayMs?: number;
}

/** Reads a robots.txt for one crawler name; rules for that name replace those for everybody (RFC 9309). */
export function parseRobots(text: string, crawler: string): RobotsRules {
  const groups: { agents: string[]; rules: { allow: boolean; path: string }[]; delay?: number }[] = [];
  let current: (typeof groups)[number] | undefined;
  let namingAgents = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line) ?? [];
    const field = key.toLowerCase();
    if (field === "user-agent") {
      if (!namingAgents || !current) groups.push((current = { agents: [], rules: [] }));
      current.agents.push(value.trim().toLowerCase());
      namingAgents = true;
    } else if (current && (field === "allow" || field === "disallow")) {
      if (value.trim() !== "") current.rules.push({ allow: field === "allow", path: value.trim() });
      namingAgents = false;
    } else if (current && field === "crawl-delay") {
      if (Number(value) >= 0) current.delay = Number(value) * 1000;
      namingAgents = false;
    }
  }
  const named = groups.filter((group) => group.agents.some((agent) => agent === crawler.toLowerCase()));
  const chosen = named.length > 0 ? named : groups.filter((group) => group.agents.includes("*"));
  const rules = chosen.flatMap((group) => group.rules).map((rule) => ({ ...rule, pattern: pathPattern(rule.path) }));
  return {
    crawlDelayMs: chosen.find((group) => group.delay !== undefined)?.delay,
    isAllowed(path) {
      // The longest matching rule decides; allow wins a tie.
      let best: { allow: boolean; path: string } | undefined;
      for (const rule of rules) {
        if (!rule.pattern.test(path)) continue;
        const longer = !best || rule.path.length > best.path.length;
        if (longer || (rule.path.length === best?.path.length && rule.allow)) best = rule;
      }
      return best?.allow ?? true;
    },
  };
}

function pathPattern(path: string): RegExp {
  const anchored = path.endsWith("$");
  const escaped = (anchored ? path.slice(0, -1) : path).replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*");
  return new RegExp(`^${escaped}${anchored ? "$" : ""}`);
}
