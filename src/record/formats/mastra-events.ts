/** Mastra's own tracing events (`exportTracingEvent`), written down one by one: spans with content and tool schemas. */
import { asArray, asNumber, asObject, asString, asText, defined, type Json, objectsOf } from "../../core/json-value.ts";
import type { TraceSpan } from "../trace-span.ts";
import { endAndLosses, plainText, readDefinitions, readSdkMessage, toolCall } from "./genai-messages.ts";
import { agentResult } from "./mastra.ts";

/** Whether a record is such an event. */
export function isMastraEvent(record: Json): boolean {
  return asObject(record["exportedSpan"]) !== undefined && /^span_/.test(asText(record["type"]));
}

/** The spans that ended; a span that never did is taken from its last event. */
export function mastraEventsToSpans(records: readonly Json[]): TraceSpan[] {
  const spans = new Map<string, Json>();
  for (const record of records) {
    const span = asObject(record["exportedSpan"]);
    if (span) spans.set(asText(span["id"]), { ...spans.get(asText(span["id"])), ...span });
  }
  const all = [...spans.values()];
  return all.map((span) => toSpan(span, spans, all));
}

function toSpan(span: Json, spans: ReadonlyMap<string, Json>, all: readonly Json[]): TraceSpan {
  const parentId = asString(span["parentSpanId"]);
  const error = asObject(span["errorInfo"]);
  const endedAt = timeOf(span["endTime"]);
  return {
    id: asText(span["id"]),
    ...(parentId && { parentId }),
    traceId: asText(span["traceId"]),
    name: asText(span["name"]),
    startedAt: timeOf(span["startTime"]) ?? 0,
    ...(endedAt !== undefined && { endedAt }),
    ...(error && { error: asText(error["message"] ?? error) }),
    ...contentOf(span, spans, all),
  };
}

function contentOf(
  span: Json,
  spans: ReadonlyMap<string, Json>,
  all: readonly Json[],
): Pick<TraceSpan, "kind" | "agent" | "tool" | "call"> {
  const attributes = asObject(span["attributes"]) ?? {};
  switch (span["type"]) {
    case "agent_run": {
      const name = asString(span["entityName"]) ?? asString(span["entityId"]) ?? asString(attributes["agentId"]);
      const instructions = attributes["instructions"];
      const generation = all.find((one) => one["parentSpanId"] === span["id"] && one["type"] === "model_generation");
      const tools = readDefinitions(asObject(generation?.["attributes"])?.["tools"]);
      return {
        kind: "agent",
        agent: {
          ...(name && { name }),
          ...(instructions ? { instructions: plainText(instructions) } : {}),
          ...(tools && { tools }),
        },
      };
    }
    case "tool_call":
    case "mcp_tool_call": {
      const callId = asString(attributes["toolCallId"]);
      const name = asString(span["entityName"]) ?? asString(span["entityId"]) ?? asText(attributes["toolId"]);
      const output = span["output"];
      return {
        kind: "tool",
        tool: {
          name,
          ...(callId && { callId }),
          arguments: asText(span["input"]),
          ...(output !== undefined && { result: agentResult(asText(output)) }),
        },
      };
    }
    case "model_step":
      return { kind: "model", call: stepCall(span, attributes, spans.get(asText(span["parentSpanId"]))) };
    default:
      return { kind: "other" };
  }
}

function stepCall(step: Json, attributes: Json, generation: Json | undefined): NonNullable<TraceSpan["call"]> {
  const output = asObject(step["output"]) ?? {};
  const usage = asObject(attributes["usage"]) ?? {};
  const above = asObject(generation?.["attributes"]) ?? {};
  const input = asArray(asObject(step["input"])?.["messages"] ?? step["input"]);
  const messages = objectsOf(input).flatMap(readSdkMessage);
  return {
    messages,
    tools: readDefinitions(above["tools"]) ?? [],
    text: asText(output["text"]),
    ...(asString(output["reasoningText"]) && { reasoning: asString(output["reasoningText"]) }),
    toolCalls: objectsOf(output["toolCalls"]).map((raw) =>
      toolCall(raw["toolCallId"], raw["toolName"], raw["args"] ?? raw["input"]),
    ),
    ...defined({
      model: asString(above["responseModel"]) ?? asString(above["model"]),
      responseId: asString(attributes["responseId"]) ?? asString(above["responseId"]),
      cachedTokens: asNumber(asObject(usage["inputDetails"])?.["cacheRead"] ?? usage["cachedInputTokens"]),
      reasoningTokens: asNumber(asObject(usage["outputDetails"])?.["reasoning"] ?? usage["reasoningTokens"]),
    }),
    ...endAndLosses(attributes["finishReason"] ?? output["finishReason"], input),
    promptTokens: asNumber(usage["inputTokens"] ?? usage["promptTokens"]) ?? 0,
    completionTokens: asNumber(usage["outputTokens"] ?? usage["completionTokens"]) ?? 0,
    lossyHistory: messages.some((message) => /^\[tool-result: /.test(message.content)),
  };
}

/** Milliseconds, from a number or a date as text. */
function timeOf(value: unknown): number | undefined {
  const time = typeof value === "number" ? value : Date.parse(asText(value));
  return Number.isFinite(time) ? time : undefined;
}
