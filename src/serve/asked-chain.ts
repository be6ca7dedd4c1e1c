/**
 * What every API does with a request before a chain starts: the model must be here, the client's tools are added, and
 * results of such tools continue the chain that waits for them.
 */
import { createHash } from "node:crypto";
import type { ToolDefinition, WireRequest } from "../base/wire/wire-api.ts";
import { asObject, type Json } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { ToolDescription } from "../core/profile.ts";
import { defineTask } from "../core/task.ts";
import { ApiError } from "./api-error.ts";
import { type ChainRequest, chainSettings, checkMedia, newChainId, taskOf } from "./chain-request.ts";
import type { ChainService } from "./chain-service.ts";
import { answerSchema, checkModel } from "./check-request.ts";
import { clientTools } from "./client-tools.ts";
import { continuedChain, rebuiltChain, type ToolResults, toolResults, unknownCall } from "./continued-chain.ts";
import type { Caller } from "./keys.ts";

export interface AskedOptions {
  wire: WireRequest;
  body: Json;
  caller: Caller;
  /** The tools among those of the request that the client runs. */
  functions: readonly ToolDefinition[];
  /** State that the client sent back. */
  sealed?: readonly string[];
  /** Ids of the client's calls that failed. */
  failed?: ReadonlySet<string>;
}

/** The chain that a request asks for: a new one, or the rest of one that waits. */
export async function askedChain(service: ChainService, options: AskedOptions): Promise<ChainRequest> {
  const { wire, body, caller, functions } = options;
  checkModel(service, wire.model);
  checkChoice(body["tool_choice"]);
  if (service.media === "refuse") checkMedia(wire);
  const schema = answerSchema(wire.responseFormat);
  const settings = { ...chainSettings(wire, body), ...(schema && { schema }) };
  const tools = functions.length > 0 ? offered(service, functions) : [];
  const common = {
    ...settings,
    keep: settings.keep && caller.keep,
    owner: caller.owner,
    store: body["store"] !== false,
  };
  const session = conversationKey(caller.owner, wire.messages);
  const results = toolResults(wire.messages, options.failed ?? new Set());
  if (!results) {
    const task = taskOf(wire.messages, settings.id);
    return { ...common, session, task, clientTools: settings.noTools ? [] : tools };
  }
  const chains = await service.suspended;
  const continues = await continuedChain(results, {
    chains,
    owner: caller.owner,
    sealed: options.sealed ?? [],
    rebuild: () => rebuilt(service, results, tools, caller.owner),
  });
  const { trajectory, clientTools: known } = continues.chain;
  const question = trajectory.prompt.findLast(({ role }) => role === "user")?.content;
  const task = question === undefined ? taskOf(results.before, settings.id) : defineTask({ id: settings.id, question });
  return { ...common, task, continues, clientTools: together(tools, known) };
}

/** Turns of one conversation begin with the same text: under this name the model keeps what it has computed of it. */
function conversationKey(owner: string, messages: readonly Message[]): string {
  const first = messages.find(({ role }) => role === "user")?.content;
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const told = JSON.stringify([owner, system, first]);
  return `conversation_${createHash("sha256").update(told).digest("base64url").slice(0, 32)}`;
}

function rebuilt(service: ChainService, results: ToolResults, tools: readonly ToolDescription[], owner: string) {
  if (!results.before.some((message) => message.role === "user")) throw unknownCall();
  const id = newChainId();
  const profile = service.profileFor({ clientTools: tools, task: taskOf(results.before, id) });
  return rebuiltChain(results, { id, owner, profile, clientTools: tools, model: service.model.name });
}

function offered(service: ChainService, functions: readonly ToolDefinition[]): ToolDescription[] {
  if (service.clientTools) return clientTools(functions);
  throw new ApiError(400, "this model was taught with its own tools and never saw others: send no function tools", {
    code: "unsupported_tool",
    param: "tools",
  });
}

/** The tools of this request, and those of the chain that it leaves out. */
function together(given: readonly ToolDescription[], known: readonly ToolDescription[]): ToolDescription[] {
  return [...given, ...known.filter((tool) => !given.some(({ name }) => name === tool.name))];
}

/** A chain decides itself which tool it calls. */
function checkChoice(choice: unknown): void {
  const type = typeof choice === "string" ? choice : asObject(choice)?.["type"];
  if (type === undefined || type === "auto" || type === "none") return;
  throw new ApiError(400, `a chain chooses its tools itself: tool_choice can be auto or none, not ${String(type)}`, {
    code: "unsupported_value",
    param: "tool_choice",
  });
}
