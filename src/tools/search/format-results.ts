/** Search results as the model reads them, in the paper's form. */
import type { SearchResult } from "./search-provider.ts";

/** Writes results as numbered Markdown links with date, source, address and snippet. */
export function formatResults(query: string, results: readonly SearchResult[]): string {
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
