/**
 * A search provider with a cache. Answers are appended to a journal, so they stay after the process ends; a later run
 * can use them, or run from them alone (`replay`), which makes a benchmark repeatable and free. Equal queries under way
 * at the same time are asked once.
 */
import { sharedWork } from "../../base/work/shared-work.ts";
import { CoaError } from "../../core/errors.ts";
import type { Journal } from "../../core/journal.ts";
import type { SearchProvider, SearchResult } from "./web-search.ts";

export interface SearchRecord {
  version: 1;
  provider: string;
  query: string;
  count: number;
  results: SearchResult[];
  /** Milliseconds since 1970. */
  at: number;
}

export interface CachedSearchOptions {
  journal: Journal<SearchRecord>;
  /** `use`: ask only for what is not there. `replay`: never ask; a missing answer is an error. */
  mode?: "use" | "replay";
}

/** Wraps a provider with a persistent cache. In replay mode the provider's name is all that is used of it. */
export function cachedSearch(provider: SearchProvider, options: CachedSearchOptions): SearchProvider {
  const { journal, mode = "use" } = options;
  const records = new Map<string, SearchRecord>();
  const share = sharedWork<SearchResult[]>();
  let loading: Promise<void> | undefined;
  const keyOf = (name: string, query: string, count: number) => JSON.stringify([name, normalised(query), count]);

  async function load(): Promise<void> {
    for await (const record of journal.read()) records.set(keyOf(record.provider, record.query, record.count), record);
  }

  async function ask(key: string, query: string, count: number, signal: AbortSignal): Promise<SearchResult[]> {
    const results = await provider.search(query, { count, signal });
    const record: SearchRecord = { version: 1, provider: provider.name, query, count, results, at: Date.now() };
    records.set(key, record);
    await journal.append(record);
    return results;
  }

  return {
    name: provider.name,
    async search(query, { count, signal }) {
      await (loading ??= load());
      const key = keyOf(provider.name, query, count);
      const record = records.get(key);
      if (record) return record.results;
      if (mode === "replay")
        throw new CoaError(
          "tool",
          `no recorded ${provider.name} answer for "${query}" (${count} results); record it first`,
        );
      return share(key, () => ask(key, query, count, signal), signal);
    },
  };
}

/** Spaces and letter case don't make another query. */
function normalised(query: string): string {
  return query.normalize("NFC").replace(/\s+/g, " ").trim().toLowerCase();
}
