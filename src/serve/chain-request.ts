/** A request of any API as a task with its settings: what is asked, what was said before, within which limits. */
import { randomUUID } from "node:crypto";
import type { WireRequest } from "../base/wire/wire-api.ts";
import type { Sampling } from "../chain/chain-options.ts";
import type { Limits } from "../chain/limits.ts";
import { asNumber, asObject, asString, type Json } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { ToolDescription } from "../core/profile.ts";
import { defineTask, type Task } from "../core/task.ts";
import type { JsonSchema } from "../core/tool.ts";
import { ApiError } from "./api-error.ts";
import type { Continuation } from "./continued-chain.ts";

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
  /** The answer is shown while it is written. */
  stream?: boolean;
  /** The caller forbade tools. */
  noTools: boolean;
  /** Whose a suspended chain is. */
  owner?: string;
  /** The answer must be JSON that follows this plain schema. */
  schema?: JsonSchema;
  /** Tools that the caller runs itself. */
  clientTools?: readonly ToolDescription[];
  /** The chain that this request continues. */
  continues?: Continuation;
  /** False: a suspended chain may be kept in memory, but not on disk. */
  store?: boolean;
  /** Hand the state of a suspended chain to the caller. */
  carryState?: boolean;
  /** Texts at which the answer ends. */
  stop?: readonly string[];
  /** Under which the model keeps its cache, where later requests may need it. */
  session?: string;
}

const stepsOfEffort: Record<string, number> = { none: 4, minimal: 4, low: 8, medium: 24, high: 64, xhigh: 128 };

/** Reads the settings that chains have; unknown parameters are ignored, as clients of these APIs expect. */
export function chainSettings(wire: WireRequest, body: Json): Omit<ChainRequest, "task"> {
  if ((wire.samples ?? 1) > 1) throw new ApiError(400, "n above 1 is not served", { param: "n" });
  const system = wire.messages.filter((message) => message.role === "system").map(({ content }) => content);
  const effort = asString(body["reasoning_effort"]) ?? asString(asObject(body["reasoning"])?.["effort"]);
  const maxSteps = effort === undefined ? undefined : stepsOfEffort[effort];
  const maxToolCalls = asNumber(body["max_tool_calls"]);
  const choice = body["tool_choice"];
  return {
    id: newChainId(),
    stream: wire.stream === true,
    ...(system.length > 0 && { instructions: system.join("\n\n") }),
    sampling: {
      ...(wire.temperature !== undefined && { temperature: wire.temperature }),
      ...(wire.topP !== undefined && { topP: wire.topP }),
      ...(wire.seed !== undefined && { seed: wire.seed }),
    },
    limits: {
      ...(wire.maxTokens !== undefined && { maxCompletionTokens: wire.maxTokens }),
      ...(maxSteps !== undefined && { maxSteps }),
      ...(maxToolCalls !== undefined && { maxToolCalls }),
    },
    ...(wire.stop && { stop: wire.stop.filter((text) => text !== "") }),
    keep: body["store"] !== false,
    noTools: choice === "none" || asObject(choice)?.["type"] === "none",
  };
}

/** A name for a chain that nobody can guess: clients use it to continue the chain. */
export function newChainId(): string {
  return `chain_${randomUUID().replaceAll("-", "")}`;
}

/** The last question of a conversation, and what user and assistant said before it. */
export function taskOf(messages: readonly Message[], id: string): Task {
  const asked = messages.findLastIndex((message) => message.role === "user" && message.content.trim() !== "");
  if (asked === -1) throw new ApiError(400, "the request has no message of a user", { param: "messages" });
  // Calls of earlier turns are not shown again: their results are in the answers.
  const said = messages.slice(0, asked).filter(({ role, content }) => role === "user" || (role === "assistant" && content !== "")); // biome-ignore format: one condition
  const history = said.map(({ role, content }) => ({ role, content }));
  return defineTask({ id, question: messages[asked]!.content, ...(history.length > 0 && { history }) });
}

/** Refuses what only a model that sees or hears would understand. */
export function checkMedia({ lost }: WireRequest): void {
  if (!lost?.includes("media")) return;
  throw new ApiError(400, "images, sound and files are not understood: send text", { code: "unsupported_media" });
}
