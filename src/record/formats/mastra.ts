/**
 * Mastra's spans over OTLP. Its `chat` span drops tool calls and its step input names tool results without their text,
 * so a step is the model call, its output and raw response body are the reply, and the history is rebuilt from the steps.
 */

import { readCompletion } from "../../base/wire/openai-chat.ts";
import { readResponse } from "../../base/wire/openai-responses.ts";
import { asArray, asNumber, asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import { type TraceSpan, toolOf } from "../trace-span.ts";
import { endAndLosses, readDefinitions, readInstructions, readSdkMessage, toolCall } from "./genai-messages.ts";
import type { OtlpSpan } from "./otlp-spans.ts";

type Mapped = Partial<TraceSpan> & { kind: TraceSpan["kind"] };

/** Maps one span; `children` hold the usage that a step itself doesn't state. */
export function mastraSpan(span: OtlpSpan, children: readonly OtlpSpan[]): Mapped {
  const { attributes } = span;
  switch (attributes["mastra.span.type"]) {
    case "agent_run": {
      const name = asString(attributes["gen_ai.agent.name"]) ?? asString(attributes["gen_ai.agent.id"]);
      const instructions = readInstructions(attributes["gen_ai.system_instructions"]);
      const tools = readDefinitions(attributes["gen_ai.tool.definitions"]);
      return {
        kind: "agent",
        agent: { ...(name && { name }), ...(instructions && { instructions }), ...(tools && { tools }) },
      };
    }
    case "tool_call":
    case "mcp_tool_call": {
      const [name, id, input = "", result] = ["name", "call.id", "call.arguments", "call.result"].map((key) => attributes[`gen_ai.tool.${key}`]); // biome-ignore format: one table
      return {
        kind: "tool",
        tool: toolOf(name, id, input, result === undefined ? result : agentResult(asText(result))),
      };
    }
    case "model_step":
      return { kind: "model", call: stepCall(span, children) };
    default:
      return { kind: "other" };
  }
}

/** A sub-agent's result is an object with ids and all it did; the manager reads its text. */
function agentResult(result: string): string {
  const raw = asObject(parseJson(result));
  return raw && "subAgentThreadId" in raw && typeof raw["text"] === "string" ? raw["text"] : result;
}

function stepCall({ attributes }: OtlpSpan, children: readonly OtlpSpan[]): NonNullable<TraceSpan["call"]> {
  const inference =
    children.find((child) => child.attributes["mastra.span.type"] === "model_inference")?.attributes ?? {};
  const body = asObject(parseJson(attributes["mastra.metadata.body"]));
  const whole = body && (Array.isArray(body["output"]) ? readResponse(body) : readCompletion(body));
  const output = asObject(parseJson(attributes["mastra.model_step.output"])) ?? {};
  const calls = asArray(output["toolCalls"]).map((item) => {
    const raw = asObject(item) ?? {};
    return toolCall(raw["toolCallId"], raw["toolName"], raw["args"] ?? raw["input"]);
  });
  const messages = asArray(parseJson(attributes["mastra.model_step.input"])).flatMap((item) =>
    readSdkMessage(asObject(item) ?? {}),
  );
  const responseId = whole?.responseId ?? asString(inference["gen_ai.response.id"]);
  return {
    messages,
    text: asString(output["text"]) ?? whole?.text ?? "",
    ...(whole?.reasoning && { reasoning: whole.reasoning }),
    toolCalls: calls.length > 0 ? calls : (whole?.toolCalls ?? []),
    ...(whole?.finish && { finish: whole.finish }),
    ...endAndLosses(
      attributes["mastra.model_step.finish_reason"] ?? inference["gen_ai.response.finish_reasons"],
      attributes["mastra.model_step.input"],
    ),
    tools: [],
    model: asString(inference["gen_ai.response.model"]) ?? whole?.model,
    promptTokens: asNumber(inference["gen_ai.usage.input_tokens"]) ?? whole?.usage?.promptTokens ?? 0,
    completionTokens: asNumber(inference["gen_ai.usage.output_tokens"]) ?? whole?.usage?.completionTokens ?? 0,
    cachedTokens: asNumber(inference["gen_ai.usage.cache_read.input_tokens"]) ?? 0,
    ...(responseId && { responseId }),
    lossyHistory: messages.some((message) => /^\[tool-result: /.test(message.content)),
  };
}
