/**
 * A saved index behind a worker thread: loading and searching never stall the event loop, the thread starts with the
 * first search, and it does not keep the process alive.
 */
import { Worker } from "node:worker_threads";
import { CoaError } from "../../core/errors.ts";
import type { Hit, IndexDocument } from "./build-index.ts";
import { readHeader } from "./index-file.ts";

export type IndexRequest = { id: number } & ({ queries: readonly string[]; k: number } | { url: string });

export type IndexReply = { id: number } & ({ hits: Hit[][] } | { documents: IndexDocument[] } | { error: string });

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

interface Waiting {
  resolve(reply: IndexReply): void;
  reject(error: unknown): void;
}

/** Opens a saved index; it is loaded by the first search. */
export async function openIndex(folder: string): Promise<LocalIndex> {
  const { documentCount } = await readHeader(folder);
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let lastId = 0;

  function start(): Worker {
    // Sources run as they are, a published package runs compiled: the worker has the extension of this file.
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const started = new Worker(new URL(`./index-worker.${extension}`, import.meta.url), { workerData: { folder } });
    started.on("message", (reply: IndexReply) => {
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (waiting.size === 0) started.unref();
      if ("error" in reply) call?.reject(new CoaError("storage", reply.error));
      else call?.resolve(reply);
    });
    const ended = (error?: unknown) => {
      if (worker === started) worker = undefined;
      for (const { reject } of waiting.values())
        reject(
          new CoaError("storage", `the index thread of ${folder} ended unexpectedly`, {
            retryable: true,
            cause: error,
          }),
        );
      waiting.clear();
    };
    started.on("error", ended);
    started.on("exit", () => ended());
    return started;
  }

  function ask(request: { queries: readonly string[]; k: number } | { url: string }): Promise<IndexReply> {
    return new Promise((resolve, reject) => {
      worker ??= start();
      worker.ref();
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ id, ...request } satisfies IndexRequest);
    });
  }

  async function searchAll(queries: readonly string[], k = 10): Promise<Hit[][]> {
    const reply = await ask({ queries, k });
    return "hits" in reply ? reply.hits : [];
  }

  return {
    size: documentCount,
    searchAll,
    search: async (query, k) => (await searchAll([query], k))[0]!,
    async read(url) {
      const reply = await ask({ url });
      return "documents" in reply ? reply.documents : [];
    },
    async close() {
      await worker?.terminate();
    },
  };
}
