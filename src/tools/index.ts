/** Tools: search, pages, own documents, programs in sandboxes, images, MCP. Every export is named here, one by one; what is not here is not public. */
export { type CodeToolOptions, codeTool } from "./code.ts";
export { type CachedFetchOptions, cachedFetch } from "./crawl/cached-fetch.ts";
export { type CrawlPageOptions, crawlPage } from "./crawl/crawl-page.ts";
export {
  type FetchedPage,
  type FetchPage,
  type PageFetcher,
  type PageFetcherOptions,
  pageFetcher,
} from "./crawl/fetch-page.ts";
export type { ResolvedAddress } from "./crawl/guarded-agent.ts";
export { type PoliteOptions, politeFetch } from "./crawl/polite-fetch.ts";
export {
  buildIndex,
  type Hit,
  type IndexDocument,
  type IndexOptions,
  type MemoryIndex,
} from "./local-index/build-index.ts";
export { type CorpusReport, type IndexCorpusOptions, indexCorpus } from "./local-index/index-corpus.ts";
export { documentFetch, type LocalIndex, openIndex, type Readable } from "./local-index/open-index.ts";
export type { Searchable } from "./local-index/retrieve-handler.ts";
export { connectMcp, type McpConnection, type McpOptions, type McpServer } from "./mcp/connect-mcp.ts";
export { type ChooseSandboxOptions, chooseSandbox, type SandboxKind } from "./sandbox/choose-sandbox.ts";
export { indexProvider } from "./search/index-provider.ts";
export { type WebProviderName, type WebProviderOptions, webProvider } from "./search/web-providers.ts";
export { type SearchProvider, type SearchResult, type WebSearchOptions, webSearch } from "./search/web-search.ts";
export { indexRetriever, type Passage, type Retrieve, wikiSearch } from "./search/wiki-search.ts";
export { type Fault, type FaultKind, type FaultPlan, withFaults } from "./with-faults.ts";
