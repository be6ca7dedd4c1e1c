/**
 * Tools over HTTP, for trainers and systems that run their own loop: `POST /tools/{name}`, and a list of them. A tool that fails is an answer that says so, as it is an observation in a chain.
 */
import type { Route } from "../base/http/guard.ts";
import { Refusal } from "../base/http/refusal.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import { type Tool, toolJsonSchema } from "../core/tool.ts";
import { checkInput } from "../language/check-input.ts";
import type { Endpoint } from "./keys.ts";
import { type McpTool, mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";

export interface ToolHandlerOptions extends ServeOptions {
  tools: readonly Tool[];
  /** Longest output of a call in characters; 100,000 by default. */
  maxCharacters?: number;
  /** Further routes under the same keys and limits, for example a retrieval server's. */
  routes?: Readonly<Record<string, Route>>;
}

export function toolHandler(options: ToolHandlerOptions): ServedHandler {
  const { maxCharacters = 100_000 } = options;
  const byName = new Map(options.tools.map((tool) => [tool.name, tool]));
  const find = (name: string | undefined): Tool => {
    const tool = byName.get(name ?? "");
    if (tool) return tool;
    const known = [...byName.keys()].join(", ");
    throw new Refusal(404, `there is no tool "${name}"; there are: ${known}`, { code: "unknown_tool" });
  };
  /** Over MCP a failure is a result that the model reads. */
  const offered = (tool: Tool): McpTool => ({
    name: tool.name,
    description: tool.description,
    inputSchema: toolJsonSchema(tool),
    async call(input, { signal }) {
      const { ok, output } = await callTool(tool, input, signal, maxCharacters);
      return { text: output, failed: !ok };
    },
  });
  const endpoints: Record<string, Endpoint> = {
    ...mcpRoutes(options.tools.map(offered), options.maxBodyBytes),
    "GET /tools": () => ({ tools: options.tools.map(({ name, description }) => ({ name, description })) }),
    async "POST /tools/{name}"({ request, json }) {
      const tool = find(request.params["name"]);
      return callTool(tool, (await json())["input"], request.signal, maxCharacters);
    },
    ...options.routes,
  };
  return servedHandler(endpoints, options);
}

/** One call: checked input, bounded time, output as text; a failure is returned, not thrown. */
async function callTool(tool: Tool, given: unknown, signal: AbortSignal, maxCharacters: number) {
  const started = performance.now();
  const late = AbortSignal.timeout(tool.timeoutMs ?? 60_000);
  const answer = (ok: boolean, text: string) => ({
    ok,
    output: text.slice(0, maxCharacters),
    ms: Math.round(performance.now() - started),
    cutCharacters: Math.max(0, text.length - maxCharacters),
  });
  try {
    const input = await checkInput(tool, given ?? {});
    if ("problem" in input) return answer(false, `error: the input is wrong: ${input.problem}`);
    const output = await tool.execute(input.value, { signal: AbortSignal.any([signal, late]) });
    return answer(true, typeof output === "string" ? output : (JSON.stringify(output) ?? ""));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return answer(false, `error: ${late.aborted && isAbort(error) ? "the tool took too long" : messageOf(error)}`);
  }
}
