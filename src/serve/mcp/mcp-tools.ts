/** Tools of ours as tools of the Model Context Protocol: input checked, time bounded, failures as results that the model reads. */
import { type Tool, toolJsonSchema } from "../../core/tool.ts";
import { callTool } from "../call-tool.ts";
import type { McpTool } from "./mcp-endpoint.ts";

export function mcpTools(tools: readonly Tool[], maxCharacters: number): McpTool[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: toolJsonSchema(tool),
    async call(input, { signal }) {
      const { ok, output } = await callTool(tool, input, signal, maxCharacters);
      return { text: output, failed: !ok };
    },
  }));
}
