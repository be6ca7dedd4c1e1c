/** Tools: search, pages, own documents, programs in sandboxes, images, MCP. Every export is named here, one by one; what is not here is not public. */
export { type CodeToolOptions, codeTool } from "./code.ts";
export { type CachedFetchOptions, cachedFetch } from "./crawl/cached-fetch.ts";
export { type CrawlPageOptions, crawlPage } from "./crawl/crawl-page.ts";
export {
  type FetchedPage,
  type FetchPage,
  type PageFetcherOptions,
  pageFetcher,
} from "./crawl/fetch-page.ts";
export { type PoliteOptions, politeFetch } from "./crawl/polite-fetch.ts";
export {
  buildIndex,
  type Hit,
  type IndexDocument,
  type MemoryIndex,
} from "./local-index/build-index.ts";
export { type LocalIndex, openIndex } from "./local-index/open-index.ts";
export type { IndexOptions } from "./local-index/postings-builder.ts";
export type { Searchable } from "./local-index/retrieve-route.ts";
export { connectMcp, type McpConnection, type McpOptions, type McpServer } from "./mcp/connect-mcp.ts";
export { type ChooseSandboxOptions, chooseSandbox } from "./sandbox/choose-sandbox.ts";
export { indexProvider } from "./search/index-provider.ts";
export { type WebProviderOptions, webProvider } from "./search/web-providers.ts";
export { type SearchProvider, type WebSearchOptions, webSearch } from "./search/web-search.ts";
export { indexRetriever, type Retrieve, wikiSearch } from "./search/wiki-search.ts";
export { type Fault, type FaultPlan, withFaults } from "./with-faults.ts";
