/** The tools of a chain by name. A list of ours, or an object of AI SDK tools, which are accepted as they are. */
import { CoaError, UsageError } from "../core/errors.ts";
import type { Tool } from "../core/tool.ts";
import type { KnownTool } from "../language/with-tools.ts";

/** A list of tools, or tools as the AI SDK writes them: the name of one is its key in the object. */
export type ToolSet =
  | readonly Tool[]
  | {
      readonly [name: string]: Pick<Tool, "inputSchema" | "timeoutMs" | "stateful"> & {
        description?: string;
        // biome-ignore lint/suspicious/noExplicitAny: the input type is the tool's own, checked by its schema
        execute?: (input: any, context: any) => unknown;
      };
    };
type NamelessTool = Exclude<ToolSet, readonly Tool[]>[string];

/** The tools by name; a tool that cannot be executed or a name used twice is refused before any work is done. */
export function toolsByName(tools: ToolSet, clientTools: readonly KnownTool[] = []): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>();
  const list = Array.isArray(tools) ? (tools as readonly Tool[]) : Object.entries(tools).map(named);
  const ofClient = clientTools.map((tool): Tool => ({ ...tool, execute: () => notOurs(tool.name) }));
  for (const tool of [...list, ...ofClient]) {
    if (typeof tool.execute !== "function") throw new UsageError(`tool ${tool.name} has no execute function`);
    if (byName.has(tool.name)) throw new UsageError(`two tools are named ${tool.name}`);
    byName.set(tool.name, tool);
  }
  return byName;
}

function notOurs(name: string): never {
  throw new CoaError("tool", `${name} is the client's tool and is not run here`);
}

function named([name, tool]: [string, NamelessTool]): Tool {
  const schema = tool.inputSchema as { jsonSchema?: Tool["inputSchema"] };
  return {
    ...tool,
    name,
    description: tool.description ?? name,
    // The AI SDK's `jsonSchema()` wraps the schema.
    inputSchema: schema.jsonSchema && !("~standard" in schema) ? schema.jsonSchema : tool.inputSchema,
    execute: tool.execute as Tool["execute"],
  };
}
