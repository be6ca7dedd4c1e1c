/** Tools: search, pages, own documents, programs in sandboxes, images, MCP. Every export is named here, one by one; what is not here is not public. */
export { type CodeToolOptions, codeTool } from "./code.ts";
export { cachedFetch } from "./crawl/cached-fetch.ts";
export { type CrawlPageOptions, crawlPage } from "./crawl/crawl-page.ts";
export { cachingExtractor, type ExtractedPage, extractPage } from "./crawl/extract-page.ts";
export { type FetchedPage, type FetchPage, type PageFetcherOptions, pageFetcher } from "./crawl/fetch-page.ts";
export { BlockedAddressError } from "./crawl/guarded-agent.ts";
export { type PoliteOptions, politeFetch } from "./crawl/polite-fetch.ts";
export { isPublicAddress } from "./crawl/public-address.ts";
export { summarisePage } from "./crawl/summarise-page.ts";
export {
  buildIndex,
  type Hit,
  type IndexDocument,
  type IndexOptions,
  type MemoryIndex,
} from "./local-index/build-index.ts";
export { documentFetch } from "./local-index/document-fetch.ts";
export { type CorpusReport, type IndexCorpusOptions, indexCorpus } from "./local-index/index-corpus.ts";
export { type IndexWriter, indexWriter, loadIndex } from "./local-index/index-file.ts";
export { type LocalIndex, openIndex } from "./local-index/open-index.ts";
export { readCorpus } from "./local-index/read-corpus.ts";
export { retrieveHandler } from "./local-index/retrieve-handler.ts";
export { connectMcp, type McpConnection, type McpOptions, type McpServer } from "./mcp/connect-mcp.ts";
export { type BubblewrapOptions, bubblewrapSandbox } from "./sandbox/bubblewrap.ts";
export {
  type ChooseSandboxOptions,
  chooseSandbox,
  type SandboxFinding,
  type SandboxKind,
  sandboxLevels,
} from "./sandbox/choose-sandbox.ts";
export { defaultSandboxLimits } from "./sandbox/limits.ts";
export type { LineSandboxOptions, WarmSandbox } from "./sandbox/line-sandbox.ts";
export { type NsjailOptions, nsjailSandbox } from "./sandbox/nsjail.ts";
export { type PyodideOptions, pyodideSandbox } from "./sandbox/pyodide.ts";
export { quickjsSandbox } from "./sandbox/quickjs.ts";
export { type Blocklist, benchmarkBlocklist, blocklist, withoutUrls } from "./search/blocklist.ts";
export { cachedSearch, type SearchRecord } from "./search/cached-search.ts";
export { indexProvider } from "./search/index-provider.ts";
export type { SearchProvider, SearchResult } from "./search/search-provider.ts";
export { webProvider, webProviderFromEnvironment } from "./search/web-providers.ts";
export { webSearch } from "./search/web-search.ts";
export { indexRetriever, type Retrieve, retrievalClient, wikiSearch } from "./search/wiki-search.ts";
export { visualInspector } from "./visual-inspector.ts";
export {
  type Fault,
  type FaultKind,
  type FaultPlan,
  faultKinds,
  parseFaultPlan,
  withFaults,
} from "./with-faults.ts";
