/** Messages as LangChain serialises them: `{lc, id: [..., "AIMessage"], kwargs}`, or plain `{type, content}`. */

import { contentText, readChatMessage, readToolCall } from "../../base/wire/openai-chat.ts";
import { asArray, asNumber, asObject, asString, parseJson } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TraceSpan } from "../trace-span.ts";
import { endAndLosses, toolCall } from "./genai-messages.ts";

const rolesByClass = new Map([
  ["SystemMessage", "system"],
  ["HumanMessage", "user"],
  ["AIMessage", "assistant"],
  ["AIMessageChunk", "assistant"],
  ["ToolMessage", "tool"],
  ["FunctionMessage", "tool"],
  ["system", "system"],
  ["human", "user"],
  ["ai", "assistant"],
  ["tool", "tool"],
]);

export function readLangChainMessage(value: unknown): Message | undefined {
  const raw = asObject(value);
  if (!raw) return undefined;
  const kwargs = asObject(raw["kwargs"]) ?? asObject(raw["data"]) ?? raw;
  const className = asString(asArray(raw["id"]).at(-1)) ?? asString(raw["type"]) ?? asString(kwargs["type"]) ?? "";
  const role = rolesByClass.get(className);
  if (!role) return readChatMessage(raw);
  const message = readChatMessage({
    role,
    content: contentText(kwargs["content"]),
    tool_call_id: kwargs["tool_call_id"],
  });
  if (!message) return undefined;
  // The text the model wrote is under additional_kwargs; the parsed calls beside it are written again.
  const written = asArray(asObject(kwargs["additional_kwargs"])?.["tool_calls"]).flatMap(
    (call) => readToolCall(call) ?? [],
  );
  const parsed = asArray(kwargs["tool_calls"]).map((call) => {
    const one = asObject(call) ?? {};
    return toolCall(one["id"], one["name"], one["args"]);
  });
  const calls = written.length > 0 ? written : parsed;
  if (calls.length > 0) message.toolCalls = calls;
  const reasoning = asString(asObject(kwargs["additional_kwargs"])?.["reasoning_content"]);
  if (reasoning) message.reasoning = reasoning;
  return message;
}

/** What the prompt of a chat model run holds that text can't. */
export function langChainLosses(value: unknown): Pick<NonNullable<TraceSpan["call"]>, "lost"> {
  const { lost } = endAndLosses(undefined, value);
  return lost ? { lost } : {};
}

/** The prompt of a chat model run: `{messages: [[...]]}`. */
export function readLangChainInput(value: unknown): Message[] {
  const inputs = asObject(typeof value === "string" ? parseJson(value) : value);
  const outer = asArray(inputs?.["messages"]);
  const list = Array.isArray(outer[0]) ? asArray(outer[0]) : outer;
  return list.flatMap((item) => readLangChainMessage(item) ?? []);
}

/** The reply of a chat model run: `{generations: [[{message}]]}`. */
export function readLangChainOutput(value: unknown): NonNullable<TraceSpan["call"]> | undefined {
  const outputs = asObject(typeof value === "string" ? parseJson(value) : value);
  const generation = asObject(asArray(asArray(outputs?.["generations"])[0])[0]);
  const raw = generation?.["message"] ?? asArray(outputs?.["messages"]).at(-1) ?? outputs?.["message"];
  const message = readLangChainMessage(raw);
  if (!message) return undefined;
  const kwargs = asObject(asObject(raw)?.["kwargs"]) ?? asObject(raw) ?? {};
  const usage = asObject(kwargs["usage_metadata"]) ?? asObject(asObject(outputs?.["llmOutput"])?.["tokenUsage"]);
  const details = asObject(usage?.["input_token_details"]);
  const cached = asNumber(details?.["cache_read"]);
  const told = [kwargs["response_metadata"], kwargs["additional_kwargs"], generation?.["generationInfo"]].map(asObject);
  // LangChain gives messages ids of its own; the server's is beside them.
  const own = asString(kwargs["id"]) ?? "";
  const responseId = asString(told[0]?.["id"]) ?? (/^(?:lc_)?run-/.test(own) ? undefined : own);
  const generated = asObject(generation?.["generation_info"]);
  const finish = [...told, generated]
    .map((one) => one?.["finish_reason"] ?? one?.["finishReason"] ?? one?.["stop_reason"] ?? one?.["done_reason"])
    .find((one) => one !== undefined && one !== null);
  return {
    ...endAndLosses(finish, [raw]),
    text: message.content || asString(generation?.["text"]) || "",
    ...(message.reasoning && { reasoning: message.reasoning }),
    toolCalls: message.toolCalls ?? [],
    promptTokens: asNumber(usage?.["input_tokens"] ?? usage?.["promptTokens"]) ?? 0,
    completionTokens: asNumber(usage?.["output_tokens"] ?? usage?.["completionTokens"]) ?? 0,
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(responseId && { responseId }),
  };
}

/** A tool run's result: a serialised ToolMessage, or anything. */
export function readLangChainToolOutput(value: unknown): { callId?: string; result?: string; error?: string } {
  const outer = asObject(typeof value === "string" ? parseJson(value) : value);
  const raw = outer?.["output"] ?? outer ?? value;
  const message = readLangChainMessage(raw);
  if (message?.role !== "tool") {
    const text = typeof raw === "string" ? raw : raw === undefined ? undefined : JSON.stringify(raw);
    return text === undefined ? {} : { result: text };
  }
  const failed = asObject(asObject(raw)?.["kwargs"])?.["status"] === "error";
  return {
    ...(message.toolCallId && { callId: message.toolCallId }),
    ...(failed ? { error: message.content, result: message.content } : { result: message.content }),
  };
}

/** Steps of the graph machinery that are not agents. */
const machinery =
  /^(?:__start__|__end__|prompt|agent|tools|call_model|model|model_request|RunnableSequence|RunnableLambda|RunnableMap|RunnableParallel|RunnableAssign|ChannelWrite.*|Branch<.*|LangGraph_|should_continue|Prompt|ChatPromptTemplate)$/;

/** Whether a chain is a graph of its own, that is an agent, and not a node or a runnable inside one. */
export function isAgentChain(name: string, metadata: Record<string, unknown>): boolean {
  return !machinery.test(name) && name !== metadata["langgraph_node"];
}

/** The agent that a model run of a graph belongs to: by its name, or by the last subgraph in its checkpoint's place. */
function graphAgent(metadata: Record<string, unknown>): string | undefined {
  const place = (asString(metadata["langgraph_checkpoint_ns"]) ?? "").split("|").map((part) => part.split(":")[0]!);
  const last = /^(?:model|agent|call_model|model_request)$/.test(place.at(-1)!) ? place.at(-2) : place.at(-1);
  return asString(metadata["lc_agent_name"]) ?? (last || undefined);
}

/** Nodes of a graph in which a model was asked are its agents; `metadataOf` gives what LangChain noted on each run. */
export function markGraphAgents(
  spans: readonly TraceSpan[],
  metadataOf: (span: TraceSpan) => Record<string, unknown>,
): void {
  const agents = new Set<string>();
  for (const span of spans) {
    const agent = span.kind === "model" ? graphAgent(metadataOf(span)) : undefined;
    if (agent !== undefined) agents.add(`${span.traceId} ${agent}`);
  }
  for (const span of spans) {
    if (span.kind !== "other" || !agents.has(`${span.traceId} ${span.name}`)) continue;
    if (metadataOf(span)["langgraph_node"] !== span.name) continue;
    span.kind = "agent";
    span.agent = { name: span.name };
  }
}
