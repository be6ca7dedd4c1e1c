/** The local index as a search provider: web_search without a web, for private corpora, tests and training. */
import type { Searchable } from "../local-index/retrieve-route.ts";
import { englishStopWords, tokenize } from "../local-index/tokenize.ts";
import type { SearchProvider } from "./web-search.ts";

/** Searches an index; snippets show the part of each passage that holds most of the query's words. */
export function indexProvider(index: Searchable): SearchProvider {
  return {
    name: "index",
    async search(query, { count }) {
      const hits = await index.search(query, count);
      return hits.map(({ document }) => ({
        title: document.title || document.id,
        url: document.url ?? document.id,
        snippet: snippetOf(document.text, query, 50),
      }));
    },
  };
}

/** The stretch of `words` words with the most distinct words of the query; the first of equals. */
export function snippetOf(text: string, query: string, words: number): string {
  const pieces = text.split(/\s+/).filter(Boolean);
  if (pieces.length <= words) return pieces.join(" ");
  const wanted = new Set(tokenize(query).filter((term) => !englishStopWords.has(term)));
  const terms = pieces.map((piece) => tokenize(piece).filter((term) => wanted.has(term)));
  const inside = new Map<string, number>();
  let best = 0;
  let bestCount = -1;
  for (let end = 0; end < pieces.length; end++) {
    for (const term of terms[end]!) inside.set(term, (inside.get(term) ?? 0) + 1);
    const start = end - words + 1;
    if (start < 0) continue;
    if (inside.size > bestCount) {
      bestCount = inside.size;
      best = start;
    }
    for (const term of terms[start]!) {
      const left = inside.get(term)! - 1;
      if (left === 0) inside.delete(term);
      else inside.set(term, left);
    }
  }
  const cut = pieces.slice(best, best + words).join(" ");
  return `${best > 0 ? "… " : ""}${cut}${best + words < pieces.length ? " …" : ""}`;
}
