/** The wiki_search tool: passages from a corpus, by a retrieval server or the local index. */

import { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { defineTool, type Tool } from "../../core/tool.ts";
import type { Searchable } from "../local-index/retrieve-route.ts";
import { requestJson } from "./request-json.ts";

const input = z.object({ query: z.string().trim().min(1) });

/** Finds the passages nearest to a query. */
export type Retrieve = (
  query: string,
  options: { topk: number; signal: AbortSignal },
) => Promise<{ title: string; text: string; score?: number }[]>;

export function wikiSearch(options: { retrieve: Retrieve; topk?: number; name?: string }): Tool<z.infer<typeof input>> {
  const { retrieve, topk = 3, name = "wiki_search" } = options;
  return defineTool({
    name,
    description: "Search an encyclopedia; gives the passages that fit best.",
    input,
    timeoutMs: 120_000,
    async run({ query }, { signal }) {
      const passages = await retrieve(query, { topk, signal });
      if (passages.length === 0) return `No results found for query: '${query}'. Use a less specific query.`;
      return passages.map(({ title, text }, index) => `Doc ${index + 1} (Title: ${title})\n${text}`).join("\n\n");
    },
  });
}

/** Retrieval from an index in this process. */
export function indexRetriever(index: Searchable): Retrieve {
  return async (query, { topk }) => {
    const hits = await index.search(query, topk);
    return hits.map(({ document, score }) => ({ title: document.title ?? "", text: document.text, score }));
  };
}

const answerSchema = z.object({
  result: z.array(
    z.array(z.object({ document: z.looseObject({ contents: z.string() }), score: z.number().optional() })),
  ),
});

export interface RetrievalClientOptions {
  /** The server's address, with or without `/retrieve`. */
  url: string;
  timeoutMs?: number;
  retries?: number;
  backOffMs?: number;
}

/** A client of a retrieval server (`POST /retrieve`). */
export function retrievalClient(options: RetrievalClientOptions): Retrieve {
  const { timeoutMs = 30_000, retries = 9, backOffMs = 250 } = options;
  const url = options.url.replace(/\/(?:retrieve\/?)?$/, "").concat("/retrieve");
  return async (query, { topk, signal }) => {
    const body = { queries: [query], topk, return_scores: true };
    const request = () => ({ url, method: "POST" as const, body });
    const service = `retrieval server ${url}`;
    const answer = await requestJson({ service, request, timeoutMs, retries, backOffMs, signal });
    const hits = answerSchema.safeParse(answer).data?.result[0];
    if (!hits) throw new CoaError("tool", `the retrieval server at ${url} did not answer in its protocol`);
    return hits.map(({ document, score }) => ({ ...splitContents(document.contents), score }));
  };
}

/** `contents` is the title (often in quotes), a newline, and the text. */
function splitContents(contents: string): { title: string; text: string } {
  const newline = contents.indexOf("\n");
  if (newline < 0) return { title: "", text: contents };
  return { title: contents.slice(0, newline).trim().replace(/^"|"$/g, ""), text: contents.slice(newline + 1) };
}
