/**
 * Tools over HTTP, for trainers and systems that run their own loop: `POST /tools/{name}`, a batch of calls, a list with
 * schemas. A tool that fails is an answer that says so, as it is an observation in a chain.
 */

import type { Route } from "../base/http/guard.ts";
import { Refusal } from "../base/http/refusal.ts";
import { inParallel } from "../base/work/limiter.ts";
import { asString, objectsOf } from "../core/json-value.ts";
import type { Tool } from "../core/tool.ts";
import { callTool } from "./call-tool.ts";
import type { Endpoint } from "./endpoint.ts";
import { mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { mcpTools } from "./mcp/mcp-tools.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";

export interface ToolHandlerOptions extends ServeOptions {
  tools: readonly Tool[];
  /** Calls of one batch that run at a time; 8 by default. */
  concurrency?: number;
  /** Longest output of a call in characters; 100,000 by default. */
  maxCharacters?: number;
  /** Further routes under the same keys and limits, for example a retrieval server's. */
  routes?: Readonly<Record<string, Route>>;
}

export function toolHandler(options: ToolHandlerOptions): ServedHandler {
  const { concurrency = 8, maxCharacters = 100_000 } = options;
  const byName = new Map(options.tools.map((tool) => [tool.name, tool]));
  const find = (name: string | undefined): Tool => {
    const tool = byName.get(name ?? "");
    if (tool) return tool;
    const known = [...byName.keys()].join(", ");
    throw new Refusal(404, `there is no tool "${name}"; there are: ${known}`, { code: "unknown_tool" });
  };
  const endpoints: Record<string, Endpoint> = {
    ...mcpRoutes(mcpTools(options.tools, maxCharacters), options.maxBodyBytes),
    "GET /tools": () => ({ tools: options.tools.map(({ name, description }) => ({ name, description })) }),
    async "POST /tools/batch"({ request, caller, json }) {
      const calls = objectsOf((await json())["calls"]).map((call) => ({
        tool: find(asString(call["tool"])),
        input: call["input"],
      }));
      await caller.count(Math.max(0, calls.length - 1));
      const results = await inParallel(calls, concurrency, ({ tool, input }) =>
        callTool(tool, input, request.signal, maxCharacters),
      );
      return { results };
    },
    async "POST /tools/{name}"({ request, json }) {
      const tool = find(request.params["name"]);
      return callTool(tool, (await json())["input"], request.signal, maxCharacters);
    },
    ...options.routes,
  };
  return servedHandler(endpoints, options);
}
