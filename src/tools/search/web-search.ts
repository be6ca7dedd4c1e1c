/** The web_search tool: one query, results as the paper shows them, blocked pages left out. */
import { z } from "zod";
import { defineTool, type Tool } from "../../core/tool.ts";
import type { Blocklist } from "./blocklist.ts";

const input = z.object({ query: z.string().trim().min(1) });

export interface WebSearchOptions {
  provider: SearchProvider;
  /** Results per query; the paper's runs show 10, its samples 5. */
  count?: number;
  /** @internal */
  blocklist?: Blocklist;
  name?: string;
}

export function webSearch(options: WebSearchOptions): Tool<z.infer<typeof input>> {
  const { provider, count = 10, blocklist, name = "web_search" } = options;
  return defineTool({
    name,
    description: "Search the web; gives titles, addresses and snippets.",
    input,
    timeoutMs: 120_000,
    async run({ query }, { signal }) {
      const results = await provider.search(query, { count, signal });
      // Two addresses that differ in nothing a reader sees are one result.
      const seen = new Set<string>();
      const kept = results.filter(({ url }) => {
        const plain = url.replace(/[#].*$/, "").replace(/\/$/, "");
        if (seen.has(plain) || blocklist?.refusal(url)) return false;
        seen.add(plain);
        return true;
      });
      return formatResults(query, kept);
    },
  });
}

/** Writes results as numbered Markdown links with date, source, address and snippet. */
function formatResults(query: string, results: readonly SearchResult[]): string {
  if (results.length === 0) return `No results found for query: '${query}'. Use a less specific query.`;
  const blocks = results.map((result, index) => {
    const lines = [`${index + 1}. [${oneLine(result.title)}](${result.url})`];
    if (result.date) lines.push(`Date published: ${oneLine(result.date)}`);
    if (result.source) lines.push(`Source: ${oneLine(result.source)}`);
    lines.push(result.url);
    const snippet = result.snippet.replaceAll("Your browser can't play this video.", "").trim();
    if (snippet) lines.push(snippet);
    return lines.join("\n");
  });
  return `Found ${results.length} results:\n\n## Web Results\n${blocks.join("\n\n")}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Anything that finds web pages for a query: a paid service, a self-hosted engine, or the local index. */
export interface SearchProvider {
  readonly name: string;
  /** Results; `source` is the name of the site or publication. */
  search(
    query: string,
    options: { count: number; signal: AbortSignal },
  ): Promise<{ title: string; url: string; snippet: string; date?: string; source?: string }[]>;
}
export type SearchResult = Awaited<ReturnType<SearchProvider["search"]>>[number];
