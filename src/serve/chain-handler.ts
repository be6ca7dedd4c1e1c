/**
 * One model with its tools behind the APIs that people use. A handler is written once; `coa serve` puts it on a port,
 * `fetchHandler` into a framework.
 */
import { type AccessOptions, accessParts } from "../base/http/access.ts";
import { fetchHandler, type Handler, replyJson } from "../base/http/handler.ts";
import { routes } from "../base/http/routes.ts";
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import type { Json } from "../core/json-value.ts";
import { defineTask } from "../core/task.ts";
import { ApiError, anthropicError, apiErrorOf, openaiError } from "./api-error.ts";
import { backgroundRuns } from "./background-runs.ts";
import { type ChainService, type ChainServiceOptions, chainService } from "./chain-service.ts";
import { chainsEndpoint, deleteChainEndpoint } from "./chains-endpoint.ts";
import { chatEndpoint } from "./chat-endpoint.ts";
import { completionsEndpoint } from "./completions-endpoint.ts";
import { type Call, corsHeaders, type EndpointSetup, endpoint, newRequestId } from "./endpoint.ts";
import { idempotentReplies } from "./idempotent-replies.ts";
import { admission, type ServeKey } from "./keys.ts";
import { askChain } from "./mcp/ask-chain.ts";
import { mcpEndpoint, mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { mcpTools } from "./mcp/mcp-tools.ts";
import { countTokensEndpoint, messagesEndpoint } from "./messages-endpoint.ts";
import { countChain, metrics } from "./metrics.ts";
import { fallbackFinish, type OldSystemOptions, shadowPairs } from "./old-system.ts";
import { responsesEndpoints } from "./responses-endpoint.ts";
import { openResponseStore, type ResponseStore } from "./stored-responses.ts";
import { uiEndpoints } from "./ui-endpoint.ts";

export interface ServeOptions {
  /** Keys that callers need; none means that everybody who reaches the port may send requests. */
  keys?: readonly ServeKey[];
  /** Web pages and host names that may ask, besides this machine's own. */
  access?: AccessOptions;
  /** Largest body of a request; 20 MB by default. */
  maxBodyBytes?: number;
}

export interface ChainHandlerOptions extends ServeOptions, Omit<ChainServiceOptions, "finish">, OldSystemOptions {
  /** Show what tools returned among the reasoning. */
  observations?: boolean;
  /** Show executed tools as items of their own to everybody, not only to those who ask for hosted tools. */
  showTools?: boolean;
  /** Offer each tool of the chain over MCP too, besides `ask_chain`. */
  mcpTools?: boolean;
  /** Where responses are kept; in memory by default. */
  store?: ResponseStore;
  /** Removes a kept chain by its id, where chains are kept. */
  forget?: (id: string, owner: string) => Promise<boolean>;
}

/** A handler, and what its owner needs besides. */
export interface ServedHandler {
  handler: Handler;
  /** The same for frameworks that speak fetch. */
  fetch(request: Request): Promise<Response>;
  /** Refuses new requests from now on, because the server stops. */
  stopAccepting(): void;
  /** Waits for work that continues after its request; stops it when the signal aborts. */
  settle?(signal: AbortSignal): Promise<void>;
}

/** What endpoints of one server share. */
export function endpointSetup(options: ServeOptions): EndpointSetup & { stop(): void } {
  let accepting = true;
  return {
    admit: admission(options.keys ?? []),
    access: options.access ?? {},
    metrics: metrics(),
    maxBodyBytes: options.maxBodyBytes ?? 20 * 2 ** 20,
    replies: idempotentReplies(),
    accepting: () => accepting,
    stop() {
      accepting = false;
    },
  };
}

const chainHandlerNames = optionNames<ChainHandlerOptions>()(
  "keys access maxBodyBytes model profile toolsOf defaults name maxChains maxQueue onTrajectory clientTools media suspended shadow fallback agree trust observations showTools mcpTools store bestOf forget",
);

/** Serves chains of one model. */
export async function chainHandler(options: ChainHandlerOptions): Promise<ServedHandler> {
  checkOptions("chainHandler", options, chainHandlerNames, accessParts);
  const setup = endpointSetup(options);
  const { shadow, fallback } = options;
  const pairs = shadow && shadowPairs({ ...options, shadow }, setup.metrics);
  const own = chainService({
    ...options,
    finish: pairs?.finish ?? (fallback && fallbackFinish({ ...options, fallback }, setup.metrics)),
    onTrajectory(trajectory, mayKeep, usage) {
      countChain(setup.metrics, { ...trajectory, usage });
      options.onTrajectory?.(trajectory, mayKeep, usage);
    },
  });
  const shadowed = pairs?.over(own);
  const service = shadowed ?? own;
  const created = Math.floor(Date.now() / 1000);
  const card = (): Json => ({
    id: service.name,
    object: "model",
    created,
    owned_by: "chain-of-agents",
    root: service.model.name,
    max_model_len: service.model.capabilities.contextWindow ?? null,
  });
  const store = options.store ?? (await openResponseStore());
  const background = backgroundRuns();
  const { showTools, forget } = options;
  const responses = responsesEndpoints(service, { store, showTools, forget }, background);
  const on = (route: string, work: (call: Call) => Promise<void>, errorBody = openaiError) => ({
    [route]: endpoint(setup, route, work, errorBody),
  });
  const callable = options.mcpTools ? options.toolsOf(defineTask({ id: "mcp", question: "?" })) : [];
  const mcp = mcpEndpoint([askChain(service), ...mcpTools(callable, 100_000)], setup.maxBodyBytes);
  const served = servedHandler(setup, service, {
    ...mcpRoutes(setup, mcp),
    ...on("GET /v1/models", async ({ reply, headers }) =>
      replyJson(reply, 200, { object: "list", data: [card()] }, headers),
    ),
    ...on("GET /v1/models/{id}", async ({ request, reply, headers }) => {
      const { id } = request.params;
      if (!service.knows(id)) throw new ApiError(404, `the model "${id}" does not exist`, { code: "model_not_found" });
      replyJson(reply, 200, card(), headers);
    }),
    ...on("POST /v1/chat/completions", chatEndpoint(service, options)),
    ...on("POST /v1/completions", completionsEndpoint(service)),
    ...on("POST /v1/chains", chainsEndpoint(service)),
    ...on("DELETE /v1/chains/{id}", deleteChainEndpoint(forget, service)),
    ...on("POST /v1/messages", messagesEndpoint(service, options), anthropicError),
    ...on("POST /v1/messages/count_tokens", countTokensEndpoint(service), anthropicError),
    ...Object.assign(
      {},
      ...Object.entries({ ...responses, ...uiEndpoints(service) }).map(([route, work]) => on(route, work)),
    ),
  });
  const settle = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([background.settle(signal), shadowed?.settle(signal)]);
  };
  return { ...served, settle };
}

/**
 * Adds what every server has (health, readiness, metrics, preflight), as a node:http handler and as a fetch function.
 */
export function servedHandler(
  setup: EndpointSetup & { stop(): void },
  service: Pick<ChainService, "running" | "waiting"> | undefined,
  table: Readonly<Record<string, Handler>>,
): ServedHandler {
  const all = routes({
    "GET /health": async (_request, reply) => replyJson(reply, 200, { status: "ok" }),
    "GET /ready": async (_request, reply) =>
      replyJson(reply, setup.accepting() ? 200 : 503, { ready: setup.accepting() }),
    "GET /metrics": endpoint(setup, "GET /metrics", async ({ reply, headers }) => {
      const gauges = { coa_chains_running: service?.running ?? 0, coa_chains_waiting: service?.waiting ?? 0 };
      reply.send(200, setup.metrics.text(gauges), { "content-type": "text/plain; version=0.0.4", ...headers });
    }),
    ...table,
  });
  const handler: Handler = async (request, reply) => {
    try {
      if (request.method === "OPTIONS") {
        const headers = corsHeaders(request, setup.access);
        if (Object.keys(headers).length === 0)
          throw new ApiError(
            403,
            "web pages of this origin may not use this server: allow the origin with --set serve.cors=<origin>",
          );
        reply.send(204, "", {
          ...headers,
          "access-control-allow-methods": "GET, POST, DELETE",
          "access-control-allow-headers": request.header("access-control-request-headers") ?? "content-type",
          "access-control-max-age": "600",
        });
        return;
      }
      await all(request, reply);
    } catch (error) {
      const refused = apiErrorOf(error);
      const shape = request.path.startsWith("/v1/messages") ? anthropicError : openaiError;
      replyJson(reply, refused.status, shape(refused), { "x-request-id": newRequestId(), ...refused.headers });
    }
  };
  return {
    handler,
    fetch: fetchHandler(handler, (reply, error) => replyJson(reply, 500, openaiError(apiErrorOf(error)))),
    stopAccepting: () => setup.stop(),
  };
}
