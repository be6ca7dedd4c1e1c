/**
 * A saved index behind a worker thread: loading and searching never stall the event loop, the thread starts with the
 * first search, and it does not keep the process alive.
 */

import { Buffer } from "node:buffer";
import { startThread } from "../../base/work/thread.ts";
import { CoaError } from "../../core/errors.ts";
import type { FetchPage } from "../crawl/fetch-page.ts";
import type { Hit, IndexDocument, MemoryIndex } from "./build-index.ts";
import { readHeader } from "./index-file.ts";
import type { IndexCalls } from "./index-worker.ts";
import { documentScheme } from "./read-corpus.ts";

export interface LocalIndex {
  readonly size: number;
  search(query: string, k?: number): Promise<Hit[]>;
  searchAll(queries: readonly string[], k?: number): Promise<Hit[][]>;
  /** The passages of one address, in order. */
  read(url: string): Promise<IndexDocument[]>;
  close(): Promise<void>;
}

/** Opens a saved index; it is loaded by the first search. */
export async function openIndex(folder: string): Promise<LocalIndex> {
  const { documentCount } = await readHeader(folder);
  const thread = startThread<IndexCalls>(new URL("./index-worker.ts", import.meta.url), {
    name: `the thread of the index ${folder}`,
    boundary: "storage",
    data: { folder },
    restarts: true,
  });
  const searchAll = (queries: readonly string[], k = 10) => thread.call("search", { queries, k });
  return {
    size: documentCount,
    searchAll,
    search: async (query, k) => (await searchAll([query], k))[0]!,
    read: (url) => thread.call("read", url),
    close: () => thread.close(),
  };
}

/**
 * The user's documents as pages: `crawl_page` reads `coa://docs/…` addresses from an index and all others as it did
 * before.
 */
export function documentFetch(index: Pick<LocalIndex | MemoryIndex, "read">, next?: FetchPage): FetchPage {
  return async (url, options) => {
    const passages = await index.read(url);
    if (passages.length > 0) {
      const title = passages[0]?.title;
      const text = passages.map((passage) => passage.text).join("\n\n");
      const body = Buffer.from(title && !text.startsWith("#") ? `# ${title}\n\n${text}` : text);
      return { url, status: 200, contentType: "text/markdown; charset=utf-8", body, truncated: false };
    }
    if (next && !url.startsWith(documentScheme)) return next(url, options);
    throw new CoaError("tool", `there is no document at ${url}; use an address that a search gave`);
  };
}
