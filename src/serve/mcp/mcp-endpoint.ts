/**
 * `/mcp`: the Model Context Protocol over streamable HTTP, both revisions that clients speak (2025-11-25 and the
 * stateless 2026-07-28). What can be called is given as a list; keys, limits and the check of the page's origin are
 * those of every other route. Roles and calls of a chain are progress notifications where the client asks for them.
 */
import type { McpHttpHandler, Server } from "@modelcontextprotocol/server";
import { packageVersion } from "../../base/files/package-version.ts";
import { jsonOf, type Reply } from "../../base/http/handler.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { eventText } from "../../base/http/server-events.ts";
import { loadPeer } from "../../base/work/optional-peer.ts";
import { budgets, most } from "../../core/budget.ts";
import { asObject, type Json } from "../../core/json-value.ts";
import type { Caller, Endpoint } from "../keys.ts";

export interface McpTool {
  name: string;
  description: string;
  inputSchema: Json;
  outputSchema?: Json;
  call(input: unknown, context: McpCallContext): Promise<McpResult>;
}

export interface McpCallContext {
  caller: Caller;
  signal: AbortSignal;
  /** Sends the client a progress line. */
  progress(message: string): Promise<void>;
}

export interface McpResult {
  text: string;
  structured?: Json;
  failed?: boolean;
}

/** The routes of the endpoint: clients of the older revision also try GET and DELETE, and are told that there are no sessions. */
export function mcpRoutes(
  tools: readonly McpTool[],
  maxBodyBytes: number = budgets.request.bytes,
): Record<string, Endpoint> {
  const endpoint = mcpEndpoint(tools, maxBodyBytes);
  return { "POST /mcp": endpoint, "GET /mcp": endpoint, "DELETE /mcp": endpoint };
}

const read = ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"] as const;

function mcpEndpoint(tools: readonly McpTool[], maxBodyBytes: number): Endpoint {
  let opening: Promise<McpHttpHandler> | undefined;
  return async ({ request, reply, caller, bytes, errorBody }) => {
    opening ??= openHandler(tools, maxBodyBytes);
    const { fetch } = await opening;
    const sent = new Headers();
    for (const name of read) {
      const value = request.header(name);
      if (value !== undefined) sent.set(name, value);
    }
    const body = request.method === "POST" ? await bytes() : undefined;
    const message = body && jsonOf(body); // refused here as everywhere, before the protocol's own reader sees it
    await countBatch(message, caller);
    const url = `http://${request.header("host") ?? "localhost"}${request.path}`;
    const { method, signal } = request;
    const asked = new Request(url, { method, headers: sent, signal, ...(body && { body: new Uint8Array(body) }) });
    const authInfo = { token: "", clientId: caller.name, scopes: [], extra: { caller, signal } };
    const stopped = () => ({ ...asObject(errorBody(signal.reason)), id: asObject(message)?.["id"] ?? null });
    await forward(await fetch(asked, { authInfo }), reply, signal, stopped);
  };
}

/** A batch counts as the requests that it is made of. */
async function countBatch(sent: unknown, caller: Caller): Promise<void> {
  if (!Array.isArray(sent)) return;
  if (sent.length > most.batch)
    throw new Refusal(400, `a batch of ${sent.length} messages: at most ${most.batch} are taken`);
  await caller.count(Math.max(0, sent.length - 1));
}

/** Passes a fetch response on, a stream with its back-pressure; one that the server itself stops ends with what `stopped` says. */
async function forward(response: Response, reply: Reply, signal: AbortSignal, stopped: () => Json): Promise<void> {
  const all = Object.fromEntries(response.headers);
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    return reply.send(response.status, new Uint8Array(await response.arrayBuffer()), all);
  const writer = reply.stream(response.status, { ...all, "cache-control": "no-cache, no-transform" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const leave = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) await writer.write(next.value);
    if (signal.reason instanceof Refusal) void writer.write(eventText(JSON.stringify(stopped()), "message"));
  } finally {
    signal.removeEventListener("abort", leave);
    writer.end();
  }
}

const loadServer = () => loadPeer("@modelcontextprotocol/server", () => import("@modelcontextprotocol/server"));

async function openHandler(tools: readonly McpTool[], maxRequestBodySize: number): Promise<McpHttpHandler> {
  // Loaded with the first request: most servers are never asked this way.
  const { createMcpHandler, Server: McpServer } = await loadServer();
  const info = { name: "chain-of-agents", version: packageVersion() };
  return createMcpHandler(
    ({ authInfo }) => {
      const server = new McpServer(info, { capabilities: { tools: {} } });
      answerTools(server, tools, authInfo?.extra as unknown as Pick<McpCallContext, "caller" | "signal">);
      return server;
    },
    { maxRequestBodySize },
  );
}

function answerTools(
  server: Server,
  tools: readonly McpTool[],
  { caller, signal }: Pick<McpCallContext, "caller" | "signal">,
): void {
  server.setRequestHandler("tools/list", () => ({
    tools: tools.map(({ name, description, inputSchema, outputSchema }) => ({
      name,
      description,
      inputSchema: { ...inputSchema, type: "object" as const },
      ...(outputSchema && { outputSchema: { ...outputSchema, type: "object" as const } }),
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) {
      const { ProtocolError, ProtocolErrorCode } = await loadServer();
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool "${params.name}"`);
    }
    const progressToken = mcpReq._meta?.progressToken;
    let steps = 0;
    const { text, structured, failed } = await tool.call(asObject(params.arguments) ?? {}, {
      caller,
      // A client that speaks the older revision may just leave.
      signal: AbortSignal.any([mcpReq.signal, signal]),
      async progress(message) {
        if (progressToken === undefined) return;
        const notification = { progressToken, progress: ++steps, message };
        await mcpReq.notify({ method: "notifications/progress", params: notification });
      },
    });
    return {
      content: [{ type: "text" as const, text }],
      ...(structured && !failed && { structuredContent: structured }),
      ...(failed && { isError: true }),
    };
  });
}
