/**
 * The team's real tools with short observations, for chains that a small model must learn. The tools do the same; only
 * what surrounds their results is left out: headings, repeated addresses, exit codes.
 */
import type { Tool } from "../core/tool.ts";

const shorteners: Readonly<Record<string, (output: string) => string>> = {
  web_search: shortResults,
  crawl_page: shortPage,
  code: shortRun,
};

/** The same tools, with search results of one line each, pages without headings, and programs' output alone. */
export function compactTools(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => {
    const shorten = shorteners[tool.name];
    if (!shorten) return tool;
    return {
      ...tool,
      async execute(input, context) {
        const output = await tool.execute(input, context);
        return typeof output === "string" ? shorten(output) : output;
      },
    };
  });
}

/**
 * One line per result: number, title, address and the first sentence of what is said about it. No brackets: a title then
 * follows a space, as it does everywhere else, and is the same tokens.
 */
function shortResults(output: string): string {
  const results = [...output.matchAll(/^\s*\d+\. \[([^\]]*)\]\(([^)\s]+)\)(.*(?:\n(?!\s*\d+\. \[).*)*)/gm)];
  if (results.length === 0) return "no results";
  return results
    .map(([, title, url, rest], index) => {
      const lines = rest!.split("\n").map((line) => line.trim());
      const snippet = lines.findLast((line) => line !== "" && !line.startsWith("http")) ?? "";
      const sentence = /^.{0,40}?\.(?=\s|$)/.exec(snippet)?.[0] ?? snippet.slice(0, 24);
      return `${index + 1}. ${title} ${url}${sentence ? ` ${sentence}` : ""}`;
    })
    .join("\n");
}

/** The text of a page alone; the addresses stay where several pages were read. */
function shortPage(output: string): string {
  if (/^Page 2 \[/m.test(output)) return output;
  return output.replace(/^Page 1 \[[^\]]*\]\n(?:# .*\n+)?/, "").trim();
}

/** What a program printed, or the last line of its error. */
function shortRun(output: string): string {
  const printed = /\[STDOUT:BEGIN\]\n?([\s\S]*?)\n?\[STDOUT:END\]/.exec(output)?.[1];
  if (printed !== undefined && !output.startsWith("[FAILED]")) return printed.trim();
  const lines = output.split("\n").filter((line) => line.trim() !== "" && !/^\[(?:FAILED|STD)/.test(line));
  return output.startsWith("[FAILED]") ? `error: ${lines.at(-1) ?? "the program failed"}` : output.trim();
}
