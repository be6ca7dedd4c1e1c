/**
 * A saved index behind a worker thread: loading and searching never stall the event loop, the thread starts with the
 * first search, and it does not keep the process alive.
 */
import { startThread } from "../../base/work/thread.ts";
import type { Hit, IndexDocument } from "./build-index.ts";
import { readHeader } from "./index-file.ts";
import type { IndexCalls } from "./index-worker.ts";

/** An index that answers later. */
export interface LocalIndex {
  readonly size: number;
  search(query: string, k?: number): Promise<Hit[]>;
  /** Several queries in one go. */
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
