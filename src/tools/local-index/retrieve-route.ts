/**
 * `POST /retrieve`, the protocol of retrieval servers used in search training: `{ queries, topk?, return_scores? }` to
 * `{ result: [[document]] }`, or `[[{ document, score }]]` with scores; `contents` is title, newline, text.
 */

import { z } from "zod";
import { type Route, withBody } from "../../base/http/guard.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { most } from "../../core/budget.ts";
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

/** `POST /retrieve` over an index. */
export function retrieveRoute(index: Searchable, options: { topk?: number } = {}): Route {
  return withBody(requestSchema, async ({ queries, return_scores, topk }) => {
    const k = topk ?? options.topk ?? 3;
    if (queries.length * k > most.passages)
      throw new Refusal(400, `${queries.length} queries of ${k} passages: at most ${most.passages} passages are given`);
    const found = index.searchAll
      ? await index.searchAll(queries, k)
      : await Promise.all(queries.map(async (query) => index.search(query, k)));
    const result = found.map((hits) =>
      hits.map((hit) => (return_scores ? { document: contents(hit), score: hit.score } : contents(hit))),
    );
    return { result };
  });
}

function contents({ document }: Hit) {
  return { ...document, contents: document.title ? `${document.title}\n${document.text}` : document.text };
}
