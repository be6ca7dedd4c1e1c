/**
 * Traces of the OpenAI Agents SDK: `{data: [trace, trace.span…]}`. Usage is taken from generations alone, since turns and
 * tasks state the sum of everything below them; tool calls have no id here and are matched by name and arguments.
 */

import { readChatMessage, readCompletion, readTools } from "../../base/wire/openai-chat.ts";
import { openaiResponses, readResponse, readResponsesInput } from "../../base/wire/openai-responses.ts";
import type { ToolDefinition } from "../../base/wire/wire-api.ts";
import { CoaError } from "../../core/errors.ts";
import { asArray, asNumber, asObject, asString, asText, defined } from "../../core/json-value.ts";
import { plainSpan, type TraceSpan, toolOf } from "../trace-span.ts";
import { endAndLosses } from "./genai-messages.ts";
import { timeOf } from "./langsmith.ts";

type Json = Record<string, unknown>;

export function readAgentsItems(payload: unknown): Json[] {
  const list = Array.isArray(payload) ? payload : asObject(payload)?.["data"];
  if (!Array.isArray(list)) throw new CoaError("record", "not an OpenAI Agents trace: no data array");
  return list.map((item) => {
    const raw = asObject(item);
    if (!raw || typeof raw["id"] !== "string") {
      throw new CoaError("record", "not an OpenAI Agents trace: an item has no id");
    }
    return raw;
  });
}

export function agentsToSpans(items: readonly Json[]): TraceSpan[] {
  return items.flatMap((item): TraceSpan[] => {
    const data = asObject(item["span_data"]);
    const traceId = asString(item["trace_id"]);
    if (!data || !traceId) return [];
    const base = plainSpan({
      ...{ id: item["id"] as string, traceId, parentId: asString(item["parent_id"]) },
      name: asString(data["name"]) ?? asText(data["type"]),
      ...{ startedAt: timeOf(item["started_at"]), endedAt: timeOf(item["ended_at"]) },
      error: asString(asObject(item["error"])?.["message"]) || undefined,
    });
    return [{ ...base, ...kindOf(data) }];
  });
}

function kindOf(data: Json): Partial<TraceSpan> {
  switch (data["type"]) {
    case "agent": {
      const tools = asArray(data["tools"]).flatMap((tool): ToolDefinition[] =>
        typeof tool === "string" ? [{ name: tool }] : readTools([tool]),
      );
      return { kind: "agent", agent: { name: asText(data["name"]), ...(tools.length > 0 && { tools }) } };
    }
    case "generation":
      return { kind: "model", call: generation(data) };
    case "response":
      return { kind: "model", call: response(data) };
    case "function":
      return { kind: "tool", tool: toolOf(data["name"], undefined, data["input"] ?? "", data["output"]) };
    case "handoff":
      return { kind: "handoff", handoff: { to: asText(data["to_agent"]) } };
    default:
      return { kind: "other" };
  }
}

function generation(data: Json): NonNullable<TraceSpan["call"]> {
  const messages = asArray(data["input"]).flatMap((item) => readChatMessage(item) ?? []);
  const output = asObject(asArray(data["output"])[0]) ?? {};
  const reply = "choices" in output ? readCompletion(output) : readCompletion({ choices: [{ message: output }] });
  const usage = asObject(data["usage"]);
  return {
    messages,
    text: reply.text,
    ...(reply.reasoning && { reasoning: reply.reasoning }),
    toolCalls: reply.toolCalls,
    ...endAndLosses(undefined, data["input"]),
    ...(reply.finish && { finish: reply.finish }),
    tools: [],
    model: asString(data["model"]),
    promptTokens: reply.usage?.promptTokens ?? asNumber(usage?.["input_tokens"]) ?? 0,
    completionTokens: reply.usage?.completionTokens ?? asNumber(usage?.["output_tokens"]) ?? 0,
    ...(reply.usage?.cachedTokens !== undefined && { cachedTokens: reply.usage?.cachedTokens }),
    ...(reply.responseId && { responseId: reply.responseId }),
  };
}

/** The exporter sends only the id of a response; processors inside the process see the rest. */
function response(data: Json): NonNullable<TraceSpan["call"]> {
  const whole = asObject(data["_response"]);
  const reply = whole ? readResponse(whole) : undefined;
  const responseId = asString(data["response_id"]) ?? reply?.responseId;
  const instructions = asString(whole?.["instructions"]);
  const asked = openaiResponses.readRequest({ input: data["_input"] }, "");
  const lost = [...new Set([...(asked.lost ?? []), ...(reply?.lost ?? [])])];
  return {
    messages: readResponsesInput({ input: data["_input"], ...(instructions && { instructions }) }),
    text: reply?.text ?? "",
    toolCalls: reply?.toolCalls ?? [],
    ...defined({ finish: reply?.finish, hosted: reply?.hosted, reasoning: reply?.reasoning }),
    ...(lost.length > 0 && { lost }),
    tools: readTools(whole?.["tools"]),
    model: reply?.model,
    promptTokens: reply?.usage?.promptTokens ?? 0,
    completionTokens: reply?.usage?.completionTokens ?? 0,
    ...(responseId && { responseId }),
  };
}
