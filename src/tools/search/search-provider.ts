/** Anything that finds web pages for a query: a paid service, a self-hosted engine, or the local index. */
export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
  /** As the provider writes it. */
  date?: string;
  /** Name of the site or publication. */
  source?: string;
}

export interface SearchProvider {
  readonly name: string;
  search(query: string, options: { count: number; signal: AbortSignal }): Promise<SearchResult[]>;
}
