/**
 * OpenInference spans (LangChain, smolagents, many others). Where the raw input and output are kept, they are used
 * instead of the flattened copy.
 */

import { readTools } from "../../base/wire/openai-chat.ts";
import { asNumber, asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import { type TraceSpan, toolOf } from "../trace-span.ts";
import { endAndLosses, readFlattened, replyOf } from "./genai-messages.ts";
import {
  isAgentChain,
  langChainLosses,
  readLangChainInput,
  readLangChainOutput,
  readLangChainToolOutput,
} from "./langchain.ts";
import type { OtlpSpan } from "./otlp-spans.ts";
import { readTextCall } from "./text-protocols.ts";

type Mapped = Partial<TraceSpan> & { kind: TraceSpan["kind"] };

export function openInferenceSpan(span: OtlpSpan): Mapped {
  const { attributes, name, scope } = span;
  const metadata = asObject(parseJson(attributes["metadata"])) ?? {};
  switch (attributes["openinference.span.kind"]) {
    case "LLM":
      return { kind: "model", call: llmCall(span) };
    case "TOOL": {
      const output = readLangChainToolOutput(attributes["output.value"]);
      const given = asText(attributes["input.value"] ?? attributes["tool.parameters"]);
      // As Python functions are called: what was named, and nothing where all was given by place.
      const { args, kwargs } = asObject(parseJson(given)) ?? {};
      const named = Array.isArray(args) && asObject(kwargs);
      const input = named && args.length === 0 ? JSON.stringify(kwargs) : named ? "" : given;
      const told = asObject(parseJson(input)) ? input : undefined;
      const tool = toolOf(asString(attributes["tool.name"]) ?? name, output.callId, told, output.result);
      return { kind: "tool", tool, ...(output.error !== undefined && { error: output.error }) };
    }
    case "AGENT": {
      const told = asString(attributes["agent.name"]) ?? asString(attributes["graph.node.id"]) ?? plainName(name);
      const output = asText(attributes["output.value"]);
      const isText = output !== "" && parseJson(output) === undefined;
      return { kind: "agent", agent: { name: told, ...(isText && { report: output }) } };
    }
    case "CHAIN":
      // A graph of LangChain is an agent; of any other framework a chain is a step, a module or a pipeline.
      return /langchain/i.test(scope) && isAgentChain(name, metadata) ? { kind: "agent", agent: { name } } : { kind: "other" }; // biome-ignore format: one rule
    default:
      return { kind: "other" };
  }
}

/** An agent's name without the method that was traced. */
function plainName(name: string): string {
  return name.replace(/\.(?:a?run(?:_stream)?|_?execute_(?:core|task)|a?kickoff(?:_async)?|a?invoke|__call__)$/, "");
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
  const responseId = raw ? undefined : asString(asObject(parseJson(attributes["output.value"]))?.["id"]);
  return readTextCall({
    ...endAndLosses(finish),
    ...reply,
    text: reply.text ?? "",
    toolCalls: reply.toolCalls ?? [],
    ...(responseId && { responseId }),
    ...langChainLosses(attributes["input.value"]),
    ...(flat && { lost: ["media" as const] }),
    messages,
    tools,
    model: asString(attributes["llm.model_name"]),
    promptTokens: asNumber(attributes["llm.token_count.prompt"]) ?? reply.promptTokens ?? 0,
    completionTokens: asNumber(attributes["llm.token_count.completion"]) ?? reply.completionTokens ?? 0,
    ...(cached !== undefined && { cachedTokens: cached }),
  });
}
