/**
 * Tools of an MCP server as tools of a chain: the server is started as a child (stdio) or reached over HTTP (streamable),
 * its tools are listed once, and each call goes through with the chain's deadline and abort signal.
 */
import { loadPeer } from "../../base/work/optional-peer.ts";
import { CoaError, messageOf, ToolError } from "../../core/errors.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import { trimMiddle } from "../sandbox/limits.ts";

export type McpServer =
  | { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string }
  | { url: string; headers?: Record<string, string> };

export interface McpOptions {
  /** Put before each tool's name, with an underscore, so that two servers can't clash. */
  prefix?: string;
  /** Which of the server's tools to take; all by default. */
  include?: (name: string) => boolean;
  signal?: AbortSignal;
}

export interface McpConnection {
  readonly serverName: string;
  readonly tools: Tool<Record<string, unknown>>[];
  close(): Promise<void>;
}

export async function connectMcp(server: McpServer, options: McpOptions = {}): Promise<McpConnection> {
  const { include = () => true, signal } = options;
  const where = "url" in server ? server.url : [server.command, ...(server.args ?? [])].join(" ");
  const { Client } = await loadPeer("@modelcontextprotocol/client", () => import("@modelcontextprotocol/client"));
  const client = new Client({ name: "chain-of-agents", version: "1" }, { capabilities: {} });
  let said = "";
  try {
    const transport = await transportTo(server);
    if ("stderr" in transport)
      transport.stderr?.on("data", (bytes) => (said = `${said}${bytes}`.slice(-longestComplaint)));
    await client.connect(transport, { timeout: connectTimeoutMs, signal });
    const { tools } = await client.listTools(undefined, { timeout: connectTimeoutMs, signal });
    const taken = new Set<string>();
    return {
      serverName: client.getServerVersion()?.name ?? where,
      tools: tools
        .filter(({ name }) => include(name))
        .map((tool) => {
          const name = tagName(tool.name, options.prefix, taken);
          return {
            name,
            description: trimMiddle(tool.description ?? tool.title ?? tool.name, longestDescription),
            inputSchema: tool.inputSchema as JsonSchema,
            timeoutMs,
            // Only the server knows whether a call changes something; where it says it does not, repeats may be answered from memory.
            stateful: tool.annotations?.readOnlyHint !== true,
            async execute(input, context) {
              const call = { name: tool.name, arguments: input };
              const result = await client.callTool(call, { signal: context.signal, timeout: timeoutMs });
              const text = trimMiddle(contentText(result.content, result.structuredContent), maxCharacters);
              if (result.isError) throw new ToolError(name, text || "the server reported an error without a text");
              return text;
            },
          };
        }),
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => {});
    if (signal?.aborted) throw error;
    throw new CoaError(
      "tool",
      `could not use the MCP server at ${where}: ${messageOf(error)}${said.trim() && `. It said: ${said.trim()}`}`,
      { cause: error },
    );
  }
}

async function transportTo(server: McpServer) {
  if ("url" in server) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    return new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } });
  }
  const { StdioClientTransport, getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
  const { command, args = [], cwd, env } = server;
  // The child sees a handful of harmless variables and what it was given, not our API keys.
  return new StdioClientTransport({
    command,
    args: [...args],
    cwd,
    env: { ...getDefaultEnvironment(), ...env },
    stderr: "pipe",
  });
}

const timeoutMs = 120_000;
const connectTimeoutMs = 30_000;
/** Of one result; the middle is cut out beyond that, before anything else looks at it. */
const maxCharacters = 200_000;
const longestDescription = 2_000;
/** Of what a server wrote to its log before it failed. */
const longestComplaint = 400;

/** Names that mean something else inside a chain or a chat: a tool of such a name would be taken for it. */
const reserved = new Set(
  "think plan reflection answer observation suggested_answer double_check verification summary summarise system user assistant tool tool_call tool_response s".split(
    " ",
  ),
);

/** A name that can stand as a tag: lower case letters, digits, underscores; no reserved one, distinct from those before. */
function tagName(name: string, prefix: string | undefined, taken: Set<string>): string {
  const plain = `${prefix ? `${prefix}_` : ""}${name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  const short = plain.slice(0, 60);
  const base = /^[a-z]/.test(short) && !reserved.has(short) ? short : `tool_${short}`;
  let result = base;
  for (let number = 2; taken.has(result); number++) result = `${base}_${number}`;
  taken.add(result);
  return result;
}

/** What the model reads of a result: texts as they are, everything else by a line that says what it was. */
function contentText(content: readonly { type: string }[] | undefined, structured: unknown): string {
  const parts = (content ?? []).map((part) => {
    const block = part as {
      type: string;
      text?: string;
      mimeType?: string;
      uri?: string;
      resource?: { text?: string; uri?: string };
    };
    if (block.type === "text") return block.text ?? "";
    if (block.type === "resource") return block.resource?.text ?? `[resource ${block.resource?.uri ?? ""}]`;
    if (block.type === "resource_link") return `[resource ${block.uri ?? ""}]`;
    return `[${block.type} ${block.mimeType ?? ""}]`;
  });
  const text = parts.filter((part) => part !== "").join("\n");
  return text === "" && structured !== undefined ? JSON.stringify(structured) : text;
}
