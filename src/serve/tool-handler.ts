/**
 * Tools over HTTP, for trainers and systems that run their own loop: `POST /tools/{name}`, a batch of calls, a list with
 * schemas. A tool that fails is an answer that says so, as it is an observation in a chain.
 */

import type { Handler } from "../base/http/handler.ts";
import { replyJson } from "../base/http/handler.ts";
import { inParallel } from "../base/work/limiter.ts";
import { asString, objectsOf } from "../core/json-value.ts";
import type { Tool } from "../core/tool.ts";
import { ApiError } from "./api-error.ts";
import { callTool } from "./call-tool.ts";
import { endpointSetup, type ServedHandler, type ServeOptions, servedHandler } from "./chain-handler.ts";
import { type Call, endpoint } from "./endpoint.ts";
import { mcpEndpoint, mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { mcpTools } from "./mcp/mcp-tools.ts";

export interface ToolHandlerOptions extends ServeOptions {
  tools: readonly Tool[];
  /** Calls of one batch that run at a time; 8 by default. */
  concurrency?: number;
  /** Longest output of a call in characters; 100,000 by default. */
  maxCharacters?: number;
  /** Further routes under the same keys and limits, for example a retrieval server's. */
  routes?: Readonly<Record<string, Handler>>;
}

/** Serves tools. */
export function toolHandler(options: ToolHandlerOptions): ServedHandler {
  const { concurrency = 8, maxCharacters = 100_000 } = options;
  const setup = endpointSetup(options);
  const byName = new Map(options.tools.map((tool) => [tool.name, tool]));
  const on = (route: string, work: (call: Call) => Promise<void>) => ({ [route]: endpoint(setup, route, work) });
  const find = (name: string | undefined): Tool => {
    const tool = byName.get(name ?? "");
    if (tool) return tool;
    const known = [...byName.keys()].join(", ");
    throw new ApiError(404, `there is no tool "${name}"; there are: ${known}`, { code: "unknown_tool" });
  };
  const mcp = mcpEndpoint(mcpTools(options.tools, maxCharacters), setup.maxBodyBytes);
  return servedHandler(setup, undefined, {
    ...mcpRoutes(setup, mcp),
    ...on("GET /tools", async ({ reply, headers }) => {
      const tools = options.tools.map(({ name, description }) => ({ name, description }));
      replyJson(reply, 200, { tools }, headers);
    }),
    ...on("POST /tools/batch", async ({ request, reply, headers, json }) => {
      const calls = objectsOf((await json())["calls"]).map((call) => ({
        tool: find(asString(call["tool"])),
        input: call["input"],
      }));
      const results = await inParallel(calls, concurrency, ({ tool, input }) =>
        callTool(tool, input, request.signal, maxCharacters),
      );
      replyJson(reply, 200, { results }, headers);
    }),
    ...on("POST /tools/{name}", async ({ request, reply, headers, json }) => {
      const tool = find(request.params["name"]);
      const body = await json();
      replyJson(reply, 200, await callTool(tool, body["input"], request.signal, maxCharacters), headers);
    }),
    ...Object.assign(
      {},
      ...Object.entries(options.routes ?? {}).map(([route, handler]) =>
        on(route, ({ request, reply }) => handler(request, reply)),
      ),
    ),
  });
}
