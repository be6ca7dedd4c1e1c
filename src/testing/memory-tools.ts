/** A search over a table of answers, in memory, for tests and examples. */
import { z } from "zod";
import { ToolError } from "../core/errors.ts";
import { defineTool, type Tool } from "../core/tool.ts";

/** Looks a query up in a table; remembers what it was asked. */
export function tableTool(
  table: Readonly<Record<string, string>>,
  name = "web_search",
): Tool<{ query: string }> & { readonly calls: string[] } {
  const calls: string[] = [];
  const tool = defineTool({
    name,
    description: "Look something up in a small table.",
    input: z.object({ query: z.string().min(1) }),
    run({ query }) {
      calls.push(query);
      const found = table[query];
      if (found === undefined) throw new ToolError(name, `nothing known about "${query}"`);
      return found;
    },
  });
  return Object.assign(tool, { calls });
}
