/** A BM25 index held in memory: for small corpora, tests, and temporary worlds. */
import { postingsSearcher } from "./postings.ts";
import { type IndexOptions, postingsBuilder } from "./postings-builder.ts";
import { englishStopWords, tokenize } from "./tokenize.ts";

export interface IndexDocument {
  id: string;
  title?: string;
  text: string;
  url?: string;
}

export interface Hit {
  document: IndexDocument;
  score: number;
}

/** An index that answers at once. */
export interface MemoryIndex {
  readonly size: number;
  search(query: string, k?: number): Hit[];
  /** The passages of one address, in order. */
  read(url: string): IndexDocument[];
}

/** Builds a BM25 index in memory from documents. */
export function buildIndex(documents: Iterable<IndexDocument>, options: IndexOptions = {}): MemoryIndex {
  const kept: IndexDocument[] = [];
  const builder = postingsBuilder(options);
  for (const document of documents) {
    builder.add(document);
    kept.push(document);
  }
  const { postings, terms } = builder.finish();
  const search = postingsSearcher(postings);
  return {
    size: kept.length,
    search(query, k = 10) {
      const numbers = queryTerms(query, (term) => terms.get(term));
      const found = search(numbers, k);
      return found.map(({ document, score }) => ({ document: kept[document]!, score }));
    },
    read: (url) => kept.filter((document) => document.url === url),
  };
}

/** The numbers of a query's terms; stop words only where there is nothing else, unknown words left out. */
export function queryTerms(query: string, lookup: (term: string) => number | undefined): number[] {
  const words = tokenize(query);
  const wanted = words.filter((word) => !englishStopWords.has(word));
  return (wanted.length > 0 ? wanted : words).flatMap((term) => lookup(term) ?? []);
}
