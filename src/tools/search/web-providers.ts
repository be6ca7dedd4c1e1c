/**
 * The search services, one entry each: where the request goes, what it carries, and where the results are in the answer.
 * Everything else (keys, limits, back-off, cache) is the same for all.
 */

import { rateLimiter } from "../../base/work/limiter.ts";
import { CoaError, messageOf, UsageError } from "../../core/errors.ts";
import { plainTextOf } from "../crawl/scan-html.ts";
import { keyPool, requestJson, type ServiceRequest } from "./request-json.ts";
import type { SearchProvider, SearchResult } from "./web-search.ts";

interface Service {
  /** Environment variables that hold the key (or, for SearXNG, the address), in order of preference. */
  variables: readonly string[];
  /** Absent where users name their own instance, which needs no key. */
  endpoint?: string;
  /** Starts per second, well within what the service allows on its common plans. */
  perSecond: number;
  maxCount: number;
  /** What to do about a refusal that its users often get. */
  hintOn403?: string;
  request(endpoint: string, query: string, count: number, key: string): ServiceRequest;
  /** The list of results inside the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: the services' JSON has no type; `tidy` reads each field with care
  list(answer: any): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  result(item: any): Partial<SearchResult>;
}

const withQuery = (endpoint: string, query: Record<string, string | number>) => {
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url.href;
};

const services = {
  serper: {
    variables: ["SERPER_API_KEY", "WEB_SEARCH_SERPER_API_KEY"],
    endpoint: "https://google.serper.dev/search",
    perSecond: 50,
    maxCount: 100,
    request: (url, q, num, key) => ({ url, method: "POST", headers: { "x-api-key": key }, body: { q, num } }),
    list: (answer) => answer.organic,
    result: ({ title, link, snippet, date, source }) => ({ title, url: link, snippet, date, source }),
  },
  serpapi: {
    variables: ["SERPAPI_API_KEY", "SERPAPI_KEY"],
    endpoint: "https://serpapi.com/search.json",
    perSecond: 5,
    maxCount: 100,
    request: (endpoint, q, num, key) => ({ url: withQuery(endpoint, { engine: "google", q, num, api_key: key }) }),
    list: (answer) => answer.organic_results,
    result: ({ title, link, snippet, date, source }) => ({ title, url: link, snippet, date, source }),
  },
  brave: {
    variables: ["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
    endpoint: "https://api.search.brave.com/res/v1/web/search",
    perSecond: 20,
    maxCount: 20,
    request: (url, q, count, key) => ({ url: withQuery(url, { q, count }), headers: { "x-subscription-token": key } }),
    list: (answer) => answer.web?.results,
    result: ({ title, url, description, age, page_age, profile }) => ({
      title, url, snippet: description, date: age ?? page_age, source: profile?.name,
    }), // biome-ignore format: short
  },
  tavily: {
    variables: ["TAVILY_API_KEY"],
    endpoint: "https://api.tavily.com/search",
    perSecond: 5,
    maxCount: 20,
    request: (url, query, max_results, key) => ({
      url, method: "POST", headers: { authorization: `Bearer ${key}` }, body: { query, max_results, search_depth: "basic" },
    }), // biome-ignore format: short
    list: (answer) => answer.results,
    result: ({ title, url, content, published_date }) => ({ title, url, snippet: content, date: published_date }),
  },
  exa: {
    variables: ["EXA_API_KEY"],
    endpoint: "https://api.exa.ai/search",
    perSecond: 8,
    maxCount: 100,
    request: (url, query, numResults, key) => ({
      url, method: "POST", headers: { "x-api-key": key }, body: { query, numResults, contents: { text: { maxCharacters: 600 } } },
    }), // biome-ignore format: short
    list: (answer) => answer.results,
    result: ({ title, url, text: snippet, publishedDate: date, author: source }) => ({
      title,
      url,
      snippet,
      date,
      source,
    }),
  },
  searxng: {
    variables: ["SEARXNG_API_BASE", "SEARXNG_URL"],
    hintOn403: "add json to search.formats in the instance's settings.yml",
    perSecond: 10,
    maxCount: 50,
    request: (endpoint, q) => ({
      url: withQuery(`${endpoint.replace(/\/(?:search\/?)?$/, "")}/search`, { q, format: "json" }),
    }),
    list: (answer) => answer.results,
    result: ({ title, url, content, publishedDate }) => ({ title, url, snippet: content, date: publishedDate }),
  },
} satisfies Record<string, Service>;

export type WebProviderName = keyof typeof services;

/** The names of the search services we can ask. */
export const webProviderNames = Object.keys(services) as WebProviderName[];

export interface WebProviderOptions {
  /** One key or several; not for SearXNG. */
  keys?: string | readonly string[];
  /** Another address than the service's own; for SearXNG the address of the instance. */
  endpoint?: string;
  retries?: number;
  timeoutMs?: number;
  backOffMs?: number;
}

export function webProvider(name: keyof typeof services, options: WebProviderOptions = {}): SearchProvider {
  const service: Service = services[name];
  const endpoint = options.endpoint ?? service.endpoint;
  if (!endpoint) throw new UsageError(`${name} needs its address: set ${service.variables[0]}`);
  const keys = service.endpoint !== undefined ? keyPool(options.keys ?? []) : undefined;
  if (keys?.size === 0) throw new UsageError(`${name} needs an API key: set ${service.variables[0]}`);
  const limiter = rateLimiter({ perSecond: service.perSecond, burst: service.perSecond });
  const { retries, timeoutMs, backOffMs } = options;
  return {
    name,
    async search(query, { count, signal }) {
      const wanted = Math.min(count, service.maxCount);
      const request = (key: string) => service.request(endpoint, query, wanted, key);
      const asked = { service: name, request, keys, limiter, retries, timeoutMs, backOffMs, signal };
      const answer = await requestJson(asked).catch((error: unknown) => {
        if (!service.hintOn403 || !/HTTP 403/.test(messageOf(error))) throw error;
        throw new CoaError("tool", `${messageOf(error)} (${service.hintOn403})`, { cause: error });
      });
      const list = service.list(answer ?? {});
      return (Array.isArray(list) ? list : [])
        .map((item) => tidy(service.result(item ?? {})))
        .filter((result) => result.url !== "")
        .slice(0, count);
    },
  };
}

/** The service the environment holds a key for: the named one, or the first there is. */
export function webProviderFromEnvironment(
  environment: Record<string, string | undefined>,
  name?: WebProviderName,
): SearchProvider | undefined {
  for (const candidate of name ? [name] : webProviderNames) {
    const service: Service = services[candidate];
    const value = service.variables.map((variable) => environment[variable]).find((text) => text);
    if (value) return webProvider(candidate, service.endpoint !== undefined ? { keys: value } : { endpoint: value });
    if (name) throw new UsageError(`${name} is not set up: set ${service.variables.join(" or ")}`);
  }
  return undefined;
}

/** The variables that set up a service each, the usual spelling of each alone. */
export function webProviderVariables(): string[] {
  return Object.values<Service>(services).map(({ variables: [first] }) => first!);
}

/** Services mark words with HTML and leave fields out. */
function tidy(result: Partial<SearchResult>): SearchResult {
  const plain = (text: unknown) => (typeof text === "string" ? plainTextOf(text).replace(/\s+/g, " ").trim() : "");
  const url = typeof result.url === "string" ? result.url.trim() : "";
  return {
    title: plain(result.title) || url,
    url,
    snippet: plain(result.snippet),
    date: plain(result.date) || undefined,
    source: plain(result.source) || undefined,
  };
}
