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
import type { Trajectory } from "../core/trajectory.ts";
import { specialsOf } from "../language/observation.ts";
import type { ChainService } from "./chain-service.ts";
import { clientTools, forcedInstructions, forcedSchema } from "./client-tools.ts";
import {
  type Continuation,
  type Conversation,
  continuedChain,
  saidValue,
  toldHistory,
  toolResults,
  turnNames,
  unknownCall,
  withCalled,
  withWords,
} from "./continued-chain.ts";
import type { Caller } from "./keys.ts";
import { answerSchema, checkMedia, checkModel, type ToolChoice, toolChoice } from "./request-fields.ts";

/** What the chain is asked to do. */
export interface ChainRequest {
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
  noTools: boolean;
  owner: string;
  /** Who asked: how long it waits for a place is noted there. */
  caller: Caller;
  /** The answer must be JSON that follows this plain schema. */
  schema?: JsonSchema;
  clientTools: readonly ToolDescription[];
  /** The caller demands a call of one of these. */
  forced?: readonly ToolDescription[];
  continues?: Continuation;
  /** What it is asked about, by value: only with the same is its chain continued as it is. */
  conversation: Conversation;
  /** Names the turn that ends with this chain, where later turns may need what it found. */
  turnOf?(ended: Trajectory): string | undefined;
  /** Hand the state of a suspended chain to the caller. */
  carryState: boolean;
  stop: readonly string[];
  /** Under which the model keeps its cache, where later requests may need it. */
  session: string;
}

export interface AskedOptions {
  wire: WireRequest;
  body: Json;
  caller: Caller;
  /** Of the reply: its chain is named after it. */
  key?: string;
  /** The tools among those of the request that the client runs. */
  functions?: readonly ToolDefinition[];
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
  const choice = toolChoice(body["tool_choice"]);
  const noTools = choice.mode === "none";
  const tools = functions.length > 0 ? offered(service, functions, choice) : [];
  const forced = choice.mode === "forced" ? tools : undefined;
  if (forced?.length === 0) throw noSuchTool("a tool, and the request brings none");
  const messages = withWords(wire.messages);
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const effort = asString(body["reasoning_effort"]) ?? asString(asObject(body["reasoning"])?.["effort"]) ?? "";
  const id = newChainId(asked.key);
  const store = body["store"] !== false;
  const settings = {
    id,
    ...defined({
      instructions: [...system, ...(forced ? [forcedInstructions(forced)] : [])].join("\n\n") || undefined,
      schema: forced ? forcedSchema(forced) : answerSchema(wire.responseFormat),
      forced,
    }),
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
    caller,
    carryState: asked.carryState === true && !forced,
    stop: (wire.stop ?? []).filter((text) => text !== ""),
  };
  const at = messages.findLastIndex(({ role, content }) => role === "user" && content.trim() !== "");
  const results = toolResults(messages, failed);
  if (at === -1) throw results ? unknownCall() : new Refusal(400, "the request has no message of a user", { param: "messages" }); // biome-ignore format: one refusal
  const question = messages[at]!.content;
  const telling = () => {
    const profile = service.profileFor({ clientTools: tools, task: defineTask({ id, question }) });
    return { profile: withCalled(profile, messages), failed, specialStrings: specialsOf(service.model) };
  };
  const chains = service.suspended;
  const before = messages.slice(0, at);
  const spoken = service.prompted && before.some(({ role }) => role === "assistant");
  const history = spoken
    ? await toldHistory(before, telling(), owner, (name) => chains.find(name, owner))
    : plainHistory(before);
  const task = defineTask({ id, question, ...(history.length > 0 && { history }) });
  const told = fingerprint(JSON.stringify([system, tools, settings.schema, saidValue(before)]));
  const conversation = { told, said: saidValue(messages.slice(at, results?.from)) };
  const turnOf = ({ answer, usage }: Trajectory) =>
    service.prompted && answer !== null && usage.toolCalls > 0
      ? turnNames(owner)([...messages, { role: "assistant", content: answer }])
      : undefined;
  if (!results) {
    const session = conversationKey(owner, system, messages);
    return { ...settings, session, task, conversation, turnOf, clientTools: noTools ? [] : tools };
  }
  const rest = { owner, clientTools: tools, session: newChainId(), conversation };
  const found = { chains, asked: rest, sealed, model: service.model.name, ...telling() };
  const continues = await continuedChain(results, found);
  const next = { told, said: saidValue(messages.slice(at)) };
  return { ...settings, session: continues.chain.session, task, conversation: next, turnOf, continues, clientTools: tools }; // biome-ignore format: one request
}

/** A name for a chain that can't be guessed: clients use it to continue the chain. */
function newChainId(key = randomUUID().replaceAll("-", "")): string {
  return `chain_${key}`;
}

/** What user and assistant said; a model that was taught with its own tools has seen no calls among it. */
function plainHistory(messages: readonly Message[]): Message[] {
  const said = messages.filter(({ role, content }) => role === "user" || (role === "assistant" && content !== ""));
  return said.map(({ role, content }) => ({ role, content }));
}

/** Turns of one conversation begin with the same text: under this name the model keeps what it has computed of it. */
function conversationKey(owner: string, system: readonly string[], messages: readonly Message[]): string {
  const first = messages.find(({ role }) => role === "user")?.content;
  const begins = JSON.stringify([owner, system, first]);
  return `conversation_${fingerprint(begins)}`;
}

function offered(
  service: ChainService,
  functions: readonly ToolDefinition[],
  { names }: ToolChoice,
): ToolDescription[] {
  if (service.clientTools) {
    const tools = clientTools(functions);
    const missing = names?.find((name) => !tools.some((tool) => tool.name === name));
    if (missing !== undefined) throw noSuchTool(`${missing}, and the request does not bring it`);
    return names ? tools.filter(({ name }) => names.includes(name)) : tools;
  }
  throw new Refusal(400, "this model was taught with its own tools and never saw others: send no function tools", {
    code: "unsupported_tool",
    param: "tools",
  });
}

function noSuchTool(asked: string): Refusal {
  return new Refusal(400, `tool_choice asks for ${asked}`, { code: "unknown_tool", param: "tool_choice" });
}
