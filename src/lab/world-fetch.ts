/**
 * Two ways to a world's pages for a crawler that sees `http://lab/483`: over real HTTP, by rewriting the address to
 * where the world is served; or straight from memory, for bulk data. Both hand out the same bytes.
 */
import type { FetchedPage, FetchPage } from "../tools/crawl/fetch-page.ts";
import type { World } from "./create-world.ts";
import { htmlAt, labBase } from "./world-pages.ts";

/** Fetches lab addresses from where the world is served, by the crawler's own fetcher; other addresses as they are. */
export function servedFetch(base: string, fetchPage: FetchPage): FetchPage {
  return async (url, options) => {
    if (!url.startsWith(`${labBase}/`)) return fetchPage(url, options);
    const page = await fetchPage(base + url.slice(labBase.length), options);
    return { ...page, url: page.url.startsWith(base) ? labBase + page.url.slice(base.length) : page.url };
  };
}

/** Fetches lab addresses from memory, without HTTP: the fast path for bulk data. Knows no other addresses. */
export function memoryFetch(world: World): FetchPage {
  const pages = new Map<string, FetchedPage>();
  const encoder = new TextEncoder();
  return async (url) => {
    let page = pages.get(url);
    if (page) return page;
    const path = url.startsWith(`${labBase}/`) ? url.slice(labBase.length) : null;
    const html = path === null ? null : htmlAt(world, path);
    const contentType = "text/html; charset=utf-8";
    page = { url, status: html === null ? 404 : 200, contentType, body: encoder.encode(html ?? ""), truncated: false };
    if (html !== null) pages.set(url, page);
    return page;
  };
}
