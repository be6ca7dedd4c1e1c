/** Pages remembered for a while: many chains of one run read the same ones, and ask for them at the same time. */

import { sharedWork } from "../../base/work/shared-work.ts";
import { steadyNow } from "../../base/work/steady-clock.ts";
import type { FetchedPage, FetchPage } from "./fetch-page.ts";

export interface CachedFetchOptions {
  /** How long a page counts as fresh. */
  maxAgeMs?: number;
  /** Of all bodies together; the least recently used go first. */
  maxBytes?: number;
  now?: () => number;
}

/** Wraps a fetcher with a cache in memory. Failures and error pages are not kept. */
export function cachedFetch(fetchPage: FetchPage, options: CachedFetchOptions = {}): FetchPage {
  const { maxAgeMs = 3 * 3600_000, maxBytes = 128 * 2 ** 20, now = steadyNow } = options;
  const pages = new Map<string, { page: FetchedPage; at: number }>(); // least recently used first
  const share = sharedWork<FetchedPage>();
  let bytes = 0;

  function drop(url: string): void {
    bytes -= pages.get(url)?.page.body.length ?? 0;
    pages.delete(url);
  }

  function keep(url: string, page: FetchedPage): void {
    if (page.status >= 400 || page.body.length > maxBytes / 4) return;
    drop(url);
    pages.set(url, { page, at: now() });
    bytes += page.body.length;
    for (const oldest of pages.keys()) {
      if (bytes <= maxBytes) break;
      drop(oldest);
    }
  }

  async function load(url: string, signal: AbortSignal): Promise<FetchedPage> {
    const page = await fetchPage(url, { signal });
    keep(url, page);
    return page;
  }

  return async (url, { signal }) => {
    const known = pages.get(url);
    if (known && now() - known.at <= maxAgeMs) {
      pages.delete(url);
      pages.set(url, known);
      return known.page;
    }
    return share(url, () => load(url, signal), signal);
  };
}
