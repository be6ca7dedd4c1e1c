/**
 * OpenInference spans (LangChain, smolagents, many others). Where the raw input and output are kept, they are used
 * instead of the flattened copy.
 */

import { readTools } from "../../base/wire/openai-chat.ts";
import { asNumber, asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import type { TraceSpan } from "../trace-span.ts";
import { endAndLosses, readFlattened, replyOf } from "./genai-messages.ts";
import {
  isAgentChain,
  langChainLosses,
  readLangChainInput,
  readLangChainOutput,
  readLangChainToolOutput,
} from "./langchain.ts";
import type { OtlpSpan } from "./otlp-spans.ts";

type Mapped = Partial<TraceSpan> & { kind: TraceSpan["kind"] };

/** Maps one span. */
export function openInferenceSpan(span: OtlpSpan): Mapped {
  const { attributes, name } = span;
  const metadata = asObject(parseJson(attributes["metadata"])) ?? {};
  switch (attributes["openinference.span.kind"]) {
    case "LLM":
      return { kind: "model", call: llmCall(span) };
    case "TOOL": {
      const output = readLangChainToolOutput(attributes["output.value"]);
      const input = asText(attributes["input.value"] ?? attributes["tool.parameters"]);
      return {
        kind: "tool",
        tool: {
          name: asString(attributes["tool.name"]) ?? name,
          ...(output.callId && { callId: output.callId }),
          ...(asObject(parseJson(input)) && { arguments: input }),
          ...(output.result !== undefined && { result: output.result }),
        },
        ...(output.error !== undefined && { error: output.error }),
      };
    }
    case "AGENT":
      return { kind: "agent", agent: { name: asString(attributes["agent.name"]) ?? name } };
    case "CHAIN":
      return isAgentChain(name, metadata) ? { kind: "agent", agent: { name } } : { kind: "other" };
    default:
      return { kind: "other" };
  }
}

function llmCall({ attributes }: OtlpSpan): NonNullable<TraceSpan["call"]> {
  const raw = readLangChainOutput(attributes["output.value"]);
  const rawInput = readLangChainInput(attributes["input.value"]);
  const messages = rawInput.length > 0 ? rawInput : readFlattened(attributes, "llm.input_messages");
  const reply = raw ?? replyOf(readFlattened(attributes, "llm.output_messages"));
  const parameters = asObject(parseJson(attributes["llm.invocation_parameters"]));
  const tools = readTools(parameters?.["tools"]);
  for (let index = 0; tools.length === 0 || index > 0; index++) {
    const schema = parseJson(attributes[`llm.tools.${index}.tool.json_schema`]);
    if (schema === undefined) break;
    tools.push(...readTools([schema]));
  }
  const cached = asNumber(attributes["llm.token_count.prompt_details.cache_read"]);
  const flat = Object.keys(attributes).some((key) => /^llm\.input_messages\..*\.image\.image\.url$/.test(key));
  const finish = attributes["llm.finish_reason"] ?? attributes["llm.output_messages.0.message.finish_reason"];
  return {
    ...endAndLosses(finish),
    ...reply,
    ...langChainLosses(attributes["input.value"]),
    ...(flat && { lost: ["media" as const] }),
    messages,
    tools,
    model: asString(attributes["llm.model_name"]),
    promptTokens: asNumber(attributes["llm.token_count.prompt"]) ?? reply.promptTokens ?? 0,
    completionTokens: asNumber(attributes["llm.token_count.completion"]) ?? reply.completionTokens ?? 0,
    ...(cached !== undefined && { cachedTokens: cached }),
  };
}
