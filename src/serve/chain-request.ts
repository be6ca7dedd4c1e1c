/**
 * A request of any API as a chain to run: what is asked, what was said before, within which limits, with which tools of the
 * client; results of such tools continue the chain that waits for them. What can't be served is refused here, before
 * anything runs.
 */

import { randomUUID } from "node:crypto";
import { Refusal } from "../base/http/refusal.ts";
import type { ToolDefinition, WireRequest } from "../base/wire/wire-api.ts";
import type { Sampling } from "../chain/chain-options.ts";
import type { Limits } from "../chain/limits.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { asNumber, asObject, asString, defined, type Json } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { ToolDescription } from "../core/profile.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { JsonSchema } from "../core/tool.ts";
import type { ChainService } from "./chain-service.ts";
import { clientTools } from "./client-tools.ts";
import { type Continuation, continuedChain, rebuiltChain, toolResults, unknownCall } from "./continued-chain.ts";
import type { Caller } from "./keys.ts";
import { answerSchema, checkMedia, checkModel, toolChoice } from "./request-fields.ts";

/** What the chain is asked to do. */
export interface ChainRequest {
  /** Names the trajectory. */
  id: string;
  task: Task;
  /** What the caller told the model besides the question. */
  instructions?: string;
  sampling: Sampling;
  limits: Partial<Limits>;
  /** False: the caller does not want its chain kept. */
  keep: boolean;
  /** False: a suspended chain may be kept in memory, but not on disk. */
  store: boolean;
  /** The answer is shown while it is written. */
  stream: boolean;
  /** The caller forbade tools. */
  noTools: boolean;
  /** Whose a chain is. */
  owner: string;
  /** The answer must be JSON that follows this plain schema. */
  schema?: JsonSchema;
  /** Tools that the caller runs itself. */
  clientTools: readonly ToolDescription[];
  /** The chain that this request continues. */
  continues?: Continuation;
  /** Hand the state of a suspended chain to the caller. */
  carryState: boolean;
  /** Texts at which the answer ends. */
  stop: readonly string[];
  /** Under which the model keeps its cache, where later requests may need it. */
  session: string;
}

/** What a request is read from. */
export interface AskedOptions {
  wire: WireRequest;
  body: Json;
  caller: Caller;
  /** The tools among those of the request that the client runs. */
  functions?: readonly ToolDefinition[];
  /** State that the client sent back. */
  sealed?: readonly string[];
  /** Ids of the client's calls that failed. */
  failed?: ReadonlySet<string>;
  /** Hand the state of a suspended chain to the caller. */
  carryState?: boolean;
}

const stepsOfEffort: Record<string, number> = { none: 4, minimal: 4, low: 8, medium: 24, high: 64, xhigh: 128 };

/** The chain that a request asks for: a new one, or the rest of one that waits. Unknown parameters are ignored, as clients expect. */
export async function chainRequest(service: ChainService, asked: AskedOptions): Promise<ChainRequest> {
  const { wire, body, caller, functions = [], sealed = [], failed = new Set() } = asked;
  const { owner } = caller;
  checkModel(service, wire.model);
  if (service.media === "refuse") checkMedia(wire);
  if ((wire.samples ?? 1) > 1) throw new Refusal(400, "n above 1 is not served", { param: "n" });
  const noTools = toolChoice(body["tool_choice"]) === "none";
  const tools = functions.length > 0 ? offered(service, functions) : [];
  const system = wire.messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const effort = asString(body["reasoning_effort"]) ?? asString(asObject(body["reasoning"])?.["effort"]) ?? "";
  const id = newChainId();
  const store = body["store"] !== false;
  const settings = {
    id,
    ...defined({ instructions: system.join("\n\n") || undefined, schema: answerSchema(wire.responseFormat) }),
    sampling: defined({ temperature: wire.temperature, topP: wire.topP, seed: wire.seed }),
    limits: defined({
      maxCompletionTokens: wire.maxTokens,
      maxSteps: stepsOfEffort[effort],
      maxToolCalls: asNumber(body["max_tool_calls"]),
    }),
    keep: store && caller.keep,
    store,
    stream: wire.stream === true,
    noTools,
    owner,
    carryState: asked.carryState === true,
    stop: (wire.stop ?? []).filter((text) => text !== ""),
  };
  const results = toolResults(wire.messages, failed);
  if (!results) {
    const session = conversationKey(owner, system, wire.messages);
    return { ...settings, session, task: taskOf(wire.messages, id), clientTools: noTools ? [] : tools };
  }
  const rebuild = () => {
    if (!results.before.some(({ role }) => role === "user")) throw unknownCall();
    const made = newChainId();
    const profile = service.profileFor({ clientTools: tools, task: taskOf(results.before, made) });
    return rebuiltChain(results, { id: made, owner, profile, clientTools: tools, model: service.model.name });
  };
  const continues = await continuedChain(results, { chains: service.suspended, owner, sealed, rebuild });
  const { trajectory, clientTools: known, session } = continues.chain;
  const question = trajectory.prompt.findLast(({ role }) => role === "user")?.content;
  const task = question === undefined ? taskOf(results.before, id) : defineTask({ id, question });
  // The tools of this request, and those of the chain that it leaves out.
  const others = known.filter((tool) => !tools.some(({ name }) => name === tool.name));
  return { ...settings, session, task, continues, clientTools: [...tools, ...others] };
}

/** A name for a chain that can't be guessed: clients use it to continue the chain. */
function newChainId(): string {
  return `chain_${randomUUID().replaceAll("-", "")}`;
}

/** The last question of a conversation, and what user and assistant said before it. */
function taskOf(messages: readonly Message[], id: string): Task {
  const asked = messages.findLastIndex((message) => message.role === "user" && message.content.trim() !== "");
  if (asked === -1) throw new Refusal(400, "the request has no message of a user", { param: "messages" });
  // Calls of earlier turns are not shown again: their results are in the answers.
  const said = messages.slice(0, asked).filter(({ role, content }) => role === "user" || (role === "assistant" && content !== "")); // biome-ignore format: one condition
  const history = said.map(({ role, content }) => ({ role, content }));
  return defineTask({ id, question: messages[asked]!.content, ...(history.length > 0 && { history }) });
}

/** Turns of one conversation begin with the same text: under this name the model keeps what it has computed of it. */
function conversationKey(owner: string, system: readonly string[], messages: readonly Message[]): string {
  const first = messages.find(({ role }) => role === "user")?.content;
  const begins = JSON.stringify([owner, system, first]);
  return `conversation_${fingerprint(begins)}`;
}

function offered(service: ChainService, functions: readonly ToolDefinition[]): ToolDescription[] {
  if (service.clientTools) return clientTools(functions);
  throw new Refusal(400, "this model was taught with its own tools and never saw others: send no function tools", {
    code: "unsupported_tool",
    param: "tools",
  });
}
