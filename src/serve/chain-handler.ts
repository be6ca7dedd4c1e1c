/**
 * One model with its tools behind the APIs that people use. A handler is written once; `coa serve` puts it on a port,
 * `fetchHandler` into a framework.
 */
import { Refusal } from "../base/http/refusal.ts";
import { openaiResponses } from "../base/wire/openai-responses.ts";
import { checkOptions } from "../base/work/check-options.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { Json } from "../core/json-value.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { ServedCascade } from "../switch/serve-cascade.ts";
import { backgroundResponses } from "./background-responses.ts";
import type { ChainRequest } from "./chain-request.ts";
import { type ChainService, type ChainServiceOptions, chainService, type Finish } from "./chain-service.ts";
import { chainsEndpoint, deleteChainEndpoint } from "./chains-endpoint.ts";
import { chatEndpoint } from "./chat-endpoint.ts";
import { completionsEndpoint } from "./completions-endpoint.ts";
import { prepareResponse } from "./create-response.ts";
import { type Annotate, feedbackEndpoint } from "./feedback-endpoint.ts";
import { callers, type Endpoint } from "./keys.ts";
import { askChain } from "./mcp/ask-chain.ts";
import { mcpRoutes } from "./mcp/mcp-endpoint.ts";
import { countTokensEndpoint, messagesEndpoint } from "./messages-endpoint.ts";
import { countChain, metrics } from "./metrics.ts";
import { cascadeOver, fallbackFinish, type OldSystemOptions, shadowPairs } from "./old-system.ts";
import { responsesEndpoints } from "./responses-endpoint.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";
import { openServeStore, type ServeStore } from "./store/open-store.ts";
import { backgroundRuns, uiEndpoints } from "./ui-endpoint.ts";

export interface ChainHandlerOptions
  extends ServeOptions,
    Omit<ChainServiceOptions, "finish" | "recall" | "fixedSampling">,
    OldSystemOptions {
  /** Show executed tools as items of their own to every client, not only to those that ask for hosted tools. */
  showTools?: boolean;
  /** Where responses and waiting chains are kept; in memory by default. */
  store?: ServeStore;
  /** Several versions of the model; what a version is opened with replaces the options of its name. @internal */
  versions?: Omit<Versions, "open"> & { open(version: string): Promise<Partial<ChainHandlerOptions>> };
  /** Removes a kept chain by its id, where chains are kept. */
  forget?: (id: string, owner: string) => Promise<boolean>;
  /** Keeps what users say about answers; without it feedback is refused. @internal */
  annotate?: Annotate;
}

export async function chainHandler(options: ChainHandlerOptions): Promise<ServedHandler> {
  checkOptions("chainHandler", options);
  const counted = metrics();
  const { shadow, fallback } = options;
  const pairs = shadow && shadowPairs({ ...options, shadow }, counted);
  const store = options.store ?? (await openServeStore());
  const known = callers(options.keys ?? [], async () => store.counts);
  const cascades: ServedCascade<ChainRequest>[] = [];
  const serviceOf = (of: ChainHandlerOptions, version?: string): ChainService => {
    const cascaded = of.fallback && of.cascade && cascadeOver({ ...of, fallback: of.fallback, cascade: of.cascade }, counted); // biome-ignore format: one choice
    if (cascaded) cascades.push(cascaded);
    const finish = pairs?.finish ?? cascaded?.finish ?? (fallback && fallbackFinish({ ...of, fallback }, counted));
    return chainService(
      {
        ...of,
        recall: options.annotate !== undefined,
        finish: version === undefined ? finish : ofVersion(version, finish),
        fixedSampling: cascaded !== undefined,
        onTrajectory(trajectory, mayKeep, usage) {
          countChain(counted, { ...trajectory, usage });
          options.onTrajectory?.(trajectory, mayKeep, usage);
        },
      },
      store.suspended,
      known.reserve,
    );
  };
  const { versions } = options;
  const first = serviceOf(options);
  const own = versions ? versionedService(first, { ...versions, open: async (version) => serviceOf({ ...options, ...(await versions.open(version)) }, version) }) : first; // biome-ignore format: one service
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
  const { showTools, forget, maxChains = 16 } = options;
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
  const pages = backgroundRuns();
  const endpoints: Record<string, Endpoint> = {
    ...mcpRoutes([askChain(service)], options.maxBodyBytes),
    "GET /v1/models": () => ({ object: "list", data: [card()] }),
    "GET /v1/models/{id}"({ request }) {
      const { id } = request.params;
      if (!service.knows(id)) throw new Refusal(404, `the model "${id}" does not exist`, { code: "model_not_found" });
      return card();
    },
    "POST /v1/chat/completions": chatEndpoint(service),
    "POST /v1/completions": completionsEndpoint(service),
    "POST /v1/chains": chainsEndpoint(service),
    "DELETE /v1/chains/{id}": deleteChainEndpoint(forget, service),
    "POST /v1/feedback": feedbackEndpoint(store.suspended, options.profile, options.annotate),
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
    await Promise.all([
      background.settle(signal),
      pages.settle(signal),
      shadowed?.settle(signal),
      ...cascades.map((one) => one.settle()),
    ]);
  };
  return { ...served, settle };
}

/** Writes the version on every chain that ends. */
function ofVersion(version: string, finish: Finish | undefined): Finish {
  return async (trajectory, request, chain) => {
    const ended = (await finish?.(trajectory, request, chain)) ?? { kept: trajectory, served: trajectory };
    const named = (one: Trajectory): Trajectory => ({ ...one, served: { ...one.served, version } });
    return { kept: named(ended.kept), served: named(ended.served) };
  };
}

/** Which version answers, and how one is opened. */
interface Versions {
  /** The version of a conversation, by name. */
  versionOf(conversation: string): Promise<string>;
  open(version: string): Promise<ChainService>;
  /** Whether a conversation is named by its first message, or all conversations of a key are one; the first by default. */
  stickyBy?: "conversation" | "key";
}

/** The name of the conversation that a request belongs to: whose it is, and how it began. Every turn repeats that. */
function conversationOf({ owner, task }: ChainRequest, by: Versions["stickyBy"]): string {
  if (by === "key" && owner !== "anyone") return owner;
  const began = [...(task.history ?? []), { role: "user", content: task.question }].find(({ role }) => role === "user");
  return fingerprint(`${owner}\n${began?.content}`);
}

/** A service that starts each chain at the version that its conversation began with; all else is that of the version it was made with. */
function versionedService(own: ChainService, versions: Versions): ChainService {
  const opened = new Map<string, Promise<ChainService>>();
  return {
    ...own,
    get running() {
      return own.running;
    },
    get waiting() {
      return own.waiting;
    },
    async start(request, signal) {
      const version = await versions.versionOf(conversationOf(request, versions.stickyBy));
      const service = opened.get(version) ?? versions.open(version);
      opened.set(version, service);
      // A version that could not be opened is tried again by the next request.
      const ready = await service.catch((error: unknown) => {
        opened.delete(version);
        throw new Refusal(503, `version ${version} can't be opened`, { code: "version_unavailable", headers: { "retry-after": "30" }, cause: error }); // biome-ignore format: one refusal
      });
      return ready.start(request, signal);
    },
  };
}
