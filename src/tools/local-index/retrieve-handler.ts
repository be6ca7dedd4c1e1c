/**
 * `POST /retrieve`, the protocol of retrieval servers used in search training: `{ queries, topk?, return_scores? }` to
 * `{ result: [[document]] }`, or `[[{ document, score }]]` with scores; `contents` is title, newline, text.
 */
import { z } from "zod";
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

/** A fetch handler that serves an index. */
export function retrieveHandler(
  index: Searchable,
  options: { topk?: number } = {},
): (request: Request) => Promise<Response> {
  const { topk = 3 } = options;
  return async (request) => {
    if (new URL(request.url).pathname !== "/retrieve") return problem(404, "only POST /retrieve is served here");
    if (request.method !== "POST") return problem(405, "use POST");
    let body: unknown;
    try {
      body = await request.json();
    } catch (error) {
      return problem(400, `the body is not JSON: ${messageOf(error)}`);
    }
    const parsed = requestSchema.safeParse(body);
    if (!parsed.success) return problem(422, z.prettifyError(parsed.error));
    const { queries, return_scores } = parsed.data;
    const k = parsed.data.topk ?? topk;
    const found = index.searchAll
      ? await index.searchAll(queries, k)
      : await Promise.all(queries.map(async (query) => index.search(query, k)));
    const result = found.map((hits) =>
      hits.map((hit) => (return_scores ? { document: contents(hit), score: hit.score } : contents(hit))),
    );
    return Response.json({ result });
  };
}

function contents({ document }: Hit) {
  return { ...document, contents: document.title ? `${document.title}\n${document.text}` : document.text };
}

function problem(status: number, message: string): Response {
  return Response.json({ error: message }, { status });
}
