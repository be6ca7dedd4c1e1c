/** The thread that holds a loaded index; `openIndex` starts it and talks to it. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../core/errors.ts";
import { loadIndex } from "./index-file.ts";
import type { IndexReply, IndexRequest } from "./open-index.ts";

const port = parentPort!;
const loading = loadIndex((workerData as { folder: string }).folder);
// A failure is told with the first request's answer.
loading.catch(() => {});

port.on("message", async ({ id, ...request }: IndexRequest) => {
  let reply: IndexReply;
  try {
    const index = await loading;
    reply =
      "url" in request
        ? { id, documents: index.read(request.url) }
        : { id, hits: request.queries.map((query) => index.search(query, request.k)) };
  } catch (error) {
    reply = { id, error: messageOf(error) };
  }
  port.postMessage(reply);
});
