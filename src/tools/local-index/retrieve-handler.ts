/**
 * `POST /retrieve`, the protocol of retrieval servers used in search training: `{ queries, topk?, return_scores? }` to
 * `{ result: [[document]] }`, or `[[{ document, score }]]` with scores; `contents` is title, newline, text.
 */

import { z } from "zod";
import { fetchHandler, type Handler, readJson, replyJson } from "../../base/http/handler.ts";
import { RefusedRequest } from "../../base/http/request-body.ts";
import { routes } from "../../base/http/routes.ts";
import { messageOf } from "../../core/errors.ts";
import type { Hit } from "./build-index.ts";

const requestSchema = z.object({
  queries: z.array(z.string()).min(1).max(10_000),
  topk: z.number().int().min(1).max(1_000).nullish(),
  return_scores: z.boolean().default(false),
});

/** Anything that finds documents for a query, at once or later. */
export interface Searchable {
  search(query: string, k?: number): Hit[] | Promise<Hit[]>;
  searchAll?(queries: readonly string[], k?: number): Promise<Hit[][]>;
}

const maxBytes = 16_000_000;

/** `POST /retrieve` over an index. */
export function retrieveRoute(index: Searchable, options: { topk?: number } = {}): Handler {
  const { topk = 3 } = options;
  return async (request, reply) => {
    const parsed = requestSchema.safeParse(await readJson(request, maxBytes));
    if (!parsed.success) throw new RefusedRequest(422, z.prettifyError(parsed.error));
    const { queries, return_scores } = parsed.data;
    const k = parsed.data.topk ?? topk;
    const found = index.searchAll
      ? await index.searchAll(queries, k)
      : await Promise.all(queries.map(async (query) => index.search(query, k)));
    const result = found.map((hits) =>
      hits.map((hit) => (return_scores ? { document: contents(hit), score: hit.score } : contents(hit))),
    );
    replyJson(reply, 200, { result });
  };
}

/** A fetch handler that serves an index. */
export function retrieveHandler(
  index: Searchable,
  options: { topk?: number } = {},
): (request: Request) => Promise<Response> {
  return fetchHandler(routes({ "POST /retrieve": retrieveRoute(index, options) }), (reply, error) =>
    replyJson(reply, error instanceof RefusedRequest ? error.status : 500, { error: messageOf(error) }),
  );
}

function contents({ document }: Hit) {
  return { ...document, contents: document.title ? `${document.title}\n${document.text}` : document.text };
}
