/** The thread that holds a loaded index; `openIndex` starts it and calls it. */
import { workerData } from "node:worker_threads";
import { answerCalls } from "../../base/work/thread.ts";
import { loadIndex } from "./index-file.ts";

const loading = loadIndex((workerData as { folder: string }).folder).then((index) => ({
  search: ({ queries, k }: { queries: readonly string[]; k: number }) => queries.map((query) => index.search(query, k)),
  read: (url: string) => index.read(url),
}));

export type IndexCalls = Awaited<typeof loading>;

answerCalls(loading);
