/**
 * One model with its tools behind the APIs that people use. A handler is written once; `coa serve` puts it on a port,
 * `fetchHandler` into a framework.
 */

import { accessParts } from "../base/http/access.ts";
import { Refusal } from "../base/http/refusal.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { checkOptions, optionNames } from "../base/work/check-options.ts";
import type { Json } from "../core/json-value.ts";
import { defineTask } from "../core/task.ts";
import { backgroundResponses } from "./background-responses.ts";
import { backgroundRuns } from "./background-runs.ts";
import { type ChainServiceOptions, chainService } from "./chain-service.ts";
import { chainsEndpoint, deleteChainEndpoint } from "./chains-endpoint.ts";
import { chatEndpoint } from "./chat-endpoint.ts";
import { completionsEndpoint } from "./completions-endpoint.ts";
import { prepareResponse } from "./create-response.ts";
import type { Endpoint } from "./endpoint.ts";
import { callers } from "./keys.ts";
import { askChain } from "./mcp/ask-chain.ts";
import { mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { mcpTools } from "./mcp/mcp-tools.ts";
import { countTokensEndpoint, messagesEndpoint } from "./messages-endpoint.ts";
import { countChain, metrics } from "./metrics.ts";
import { fallbackFinish, type OldSystemOptions, shadowPairs } from "./old-system.ts";
import { responsesEndpoints } from "./responses-endpoint.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";
import { openServeStore, type ServeStore } from "./store/open-store.ts";
import { uiEndpoints } from "./ui-endpoint.ts";

export interface ChainHandlerOptions extends ServeOptions, Omit<ChainServiceOptions, "finish">, OldSystemOptions {
  /** Show what tools returned among the reasoning. */
  observations?: boolean;
  /** Show executed tools as items of their own to every client, not only to those that ask for hosted tools. */
  showTools?: boolean;
  /** Offer each tool of the chain over MCP too, besides `ask_chain`. */
  mcpTools?: boolean;
  /** Where responses and waiting chains are kept; in memory by default. */
  store?: ServeStore;
  /** Removes a kept chain by its id, where chains are kept. */
  forget?: (id: string, owner: string) => Promise<boolean>;
}

const chainHandlerNames = optionNames<ChainHandlerOptions>()(
  "keys access maxBodyBytes onRequest model profile toolsOf defaults name maxChains maxQueue onTrajectory clientTools media shadow fallback agree trust observations showTools mcpTools store bestOf forget",
);

/** Serves chains of one model. */
export async function chainHandler(options: ChainHandlerOptions): Promise<ServedHandler> {
  checkOptions("chainHandler", options, chainHandlerNames, accessParts);
  const counted = metrics();
  const { shadow, fallback } = options;
  const pairs = shadow && shadowPairs({ ...options, shadow }, counted);
  const store = options.store ?? (await openServeStore());
  const own = chainService(
    {
      ...options,
      finish: pairs?.finish ?? (fallback && fallbackFinish({ ...options, fallback }, counted)),
      onTrajectory(trajectory, mayKeep, usage) {
        countChain(counted, { ...trajectory, usage });
        options.onTrajectory?.(trajectory, mayKeep, usage);
      },
    },
    store.suspended,
  );
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
  const { showTools, forget, keys = [], maxChains = 16 } = options;
  const known = callers(keys, async () => store.counts);
  const stored = { store: store.responses, showTools, forget };
  const background = backgroundResponses({
    store,
    model: service.name,
    hasRoom: () => service.running + service.waiting < maxChains,
    async prepare({ id, owner, request }) {
      const caller = known.ofOwner(owner);
      if (!caller)
        throw new Refusal(403, "the key of this response is not known any more", { code: "invalid_api_key" });
      return prepareResponse(service, stored, request, caller, id);
    },
  });
  const responses = responsesEndpoints(service, stored, background);
  const callable = options.mcpTools ? options.toolsOf(defineTask({ id: "mcp", question: "?" })) : [];
  const pages = backgroundRuns();
  const endpoints: Record<string, Endpoint> = {
    ...mcpRoutes([askChain(service), ...mcpTools(callable, 100_000)], options.maxBodyBytes),
    "GET /v1/models": () => ({ object: "list", data: [card()] }),
    "GET /v1/models/{id}"({ request }) {
      const { id } = request.params;
      if (!service.knows(id)) throw new Refusal(404, `the model "${id}" does not exist`, { code: "model_not_found" });
      return card();
    },
    "POST /v1/chat/completions": chatEndpoint(service, options),
    "POST /v1/completions": completionsEndpoint(service),
    "POST /v1/chains": chainsEndpoint(service),
    "DELETE /v1/chains/{id}": deleteChainEndpoint(forget, service),
    "POST /v1/messages": messagesEndpoint(service, options),
    "POST /v1/messages/count_tokens": countTokensEndpoint(service),
    "POST /v1/responses/input_tokens": countTokensEndpoint(service, openaiResponses),
    ...responses,
    ...uiEndpoints(service, pages),
  };
  const served = servedHandler(endpoints, options, {
    counted,
    model: service.name,
    load: service,
    store: async () => store,
    callers: known,
  });
  const settle = async (signal: AbortSignal): Promise<void> => {
    await Promise.all([background.settle(signal), pages.settle(signal), shadowed?.settle(signal)]);
  };
  return { ...served, settle };
}
