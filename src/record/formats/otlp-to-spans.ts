/** OTLP spans of agent frameworks to trace spans: GenAI conventions old and new, OpenInference, the AI SDK's two formats, Mastra, Ax. */
import { cutText } from "../../base/text/cut-text.ts";
import { asArray, asNumber, asObject, asString, asText, parseJson } from "../../core/json-value.ts";
import { addTo } from "../recorded-call.ts";
import { plainSpan, type TraceSpan, toolOf } from "../trace-span.ts";
import {
  endAndLosses,
  plainText,
  readContentEvents,
  readDefinitions,
  readFlattened,
  readInstructions,
  readPartMessages,
  readSdkMessage,
  replyOf,
  toolCall,
} from "./genai-messages.ts";
import { markGraphAgents } from "./langchain.ts";
import { mastraSpan } from "./mastra.ts";
import { openInferenceSpan } from "./openinference.ts";
import { type OtlpSpan, withLogs } from "./otlp-spans.ts";

/** Exporters keep at most this many attributes by default, and flattened messages run into it. */
const attributeLimit = 128;

export function otlpToSpans(exported: readonly OtlpSpan[]): TraceSpan[] {
  const spans = withLogs(exported);
  const children = new Map<string, OtlpSpan[]>();
  for (const span of spans) {
    if (span.parentId !== undefined) addTo(children, span.parentId, span);
  }
  const mappedSpans = spans.map((span) => {
    const mapped: TraceSpan = { ...baseOf(span), ...mapSpan(span, children.get(span.id) ?? []) };
    const cut = cutOf(span) ?? mapped.cut;
    if (cut !== undefined && mapped.kind !== "other" && mapped.kind !== "agent") mapped.cut = cut;
    return mapped;
  });
  const noted = new Map(spans.map(({ id, attributes }) => [id, attributes["metadata"]]));
  markGraphAgents(mappedSpans, ({ id }) => asObject(parseJson(noted.get(id))) ?? {});
  return mappedSpans;
}

function mapSpan(span: OtlpSpan, children: readonly OtlpSpan[]): Partial<TraceSpan> & { kind: TraceSpan["kind"] } {
  const { attributes } = span;
  if (attributes["openinference.span.kind"] !== undefined) return openInferenceSpan(span);
  if (attributes["mastra.span.type"] !== undefined) return mastraSpan(span, children);
  if (attributes["ai.operationId"] !== undefined) return legacyAiSdkSpan(span);
  if (attributes["gen_ai.operation.name"] !== undefined || attributes["gen_ai.system"] !== undefined) {
    return genAiSpan(span);
  }
  if (span.name.startsWith("Tool: ") && attributes["tool.name"] !== undefined) {
    return { kind: "tool", tool: toolOf(attributes["tool.name"], attributes["function.id"], undefined, undefined) };
  }
  if (/^Ax(?:Gen|Agent|Flow)/.test(span.name)) return { kind: "agent", agent: {} };
  return { kind: "other" };
}

function baseOf({ id, parentId, traceId, name, startedAt, endedAt, error, attributes }: OtlpSpan): TraceSpan {
  const session = attributes["session.id"] ?? attributes["gen_ai.conversation.id"];
  return plainSpan({ id, parentId, traceId, name, startedAt, endedAt, error, session });
}

function genAiSpan(span: OtlpSpan): Partial<TraceSpan> & { kind: TraceSpan["kind"] } {
  // The newest convention moves content into events of their own.
  const details = span.events.filter((event) => event.name === "gen_ai.client.inference.operation.details");
  const attributes = Object.assign(
    {},
    span.attributes,
    ...details.map((event) => event.attributes),
  ) as OtlpSpan["attributes"];
  const operation = asString(attributes["gen_ai.operation.name"]) ?? "chat";
  if (operation === "invoke_agent" || operation === "create_agent" || operation === "invoke_workflow") {
    const name = asString(attributes["gen_ai.agent.name"]) ?? asString(attributes["gen_ai.agent.id"]);
    const instructions = readInstructions(attributes["gen_ai.system_instructions"]);
    return { kind: "agent", agent: { ...(name && { name }), ...(instructions && { instructions }) } };
  }
  if (operation === "execute_tool") {
    const [name, id, input, result] = ["name", "call.id", "call.arguments", "call.result"].map((key) => attributes[`gen_ai.tool.${key}`]); // biome-ignore format: one table
    return { kind: "tool", tool: toolOf(name, id, input, result === undefined ? result : plainText(result)) };
  }
  if (operation !== "chat" && operation !== "text_completion" && operation !== "generate_content")
    return { kind: "other" };
  return { kind: "model", call: genAiCall(span, attributes) };
}

function genAiCall(span: OtlpSpan, attributes: Record<string, unknown>): NonNullable<TraceSpan["call"]> {
  const events = readContentEvents(span);
  const instructions = readInstructions(attributes["gen_ai.system_instructions"]);
  const input = firstNonEmpty(
    readPartMessages(attributes["gen_ai.input.messages"]),
    readFlattened(attributes, "gen_ai.prompt"),
    events.input,
  );
  const output = firstNonEmpty(
    readPartMessages(attributes["gen_ai.output.messages"]),
    readFlattened(attributes, "gen_ai.completion"),
    events.output,
  );
  if (instructions && !input.some((message) => message.role === "system") && input.length > 0) {
    input.unshift({ role: "system", content: instructions });
  }
  const usage = span.events.find((event) => event.name === "gen_ai.usage")?.attributes ?? {};
  const number = (...keys: string[]) =>
    keys.map((key) => asNumber(attributes[key] ?? usage[key])).find((one) => one !== undefined);
  const cached = number("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cached_tokens");
  return {
    messages: input,
    ...replyOf(output),
    ...endAndLosses(
      attributes["gen_ai.response.finish_reasons"] ??
        asObject(asArray(parseJson(attributes["gen_ai.output.messages"])).at(-1))?.["finish_reason"] ??
        attributes["gen_ai.completion.0.finish_reason"],
      attributes["gen_ai.input.messages"],
      attributes["gen_ai.output.messages"],
    ),
    tools: readDefinitions(attributes["gen_ai.tool.definitions"]) ?? flattenedTools(attributes),
    model: asString(attributes["gen_ai.response.model"]) ?? asString(attributes["gen_ai.request.model"]),
    promptTokens: number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens") ?? 0,
    completionTokens: number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens") ?? 0,
    ...(cached !== undefined && { cachedTokens: cached }),
    ...(asString(attributes["gen_ai.response.id"]) && { responseId: asString(attributes["gen_ai.response.id"]) }),
  };
}

function flattenedTools(attributes: Record<string, unknown>) {
  const tools = [];
  for (let index = 0; attributes[`llm.request.functions.${index}.name`] !== undefined; index++) {
    const at = `llm.request.functions.${index}`;
    tools.push({ name: asText(attributes[`${at}.name`]), parameters: parseJson(attributes[`${at}.parameters`]) });
  }
  return tools;
}

function legacyAiSdkSpan(span: OtlpSpan): Partial<TraceSpan> & { kind: TraceSpan["kind"] } {
  const { attributes } = span;
  const operation = asText(attributes["ai.operationId"]);
  if (operation === "ai.toolCall") {
    const [name, id, args, input, result] = ["name", "id", "args", "input", "result"].map((key) => attributes[`ai.toolCall.${key}`]); // biome-ignore format: one table
    const shown = result === undefined ? result : plainText(result);
    return { kind: "tool", tool: toolOf(name, id, args ?? input ?? "", shown) };
  }
  if (!/\.do(?:Generate|Stream)$/.test(operation)) {
    if (!/^ai\.(?:generate|stream)(?:Text|Object)$/.test(operation)) return { kind: "other" };
    const name = asString(attributes["ai.telemetry.functionId"]);
    const instructions = asString(asObject(parseJson(attributes["ai.prompt"]))?.["system"]);
    return { kind: "agent", agent: { ...(name && { name }), ...(instructions && { instructions }) } };
  }
  const messages = asArray(parseJson(attributes["ai.prompt.messages"])).flatMap((item) =>
    readSdkMessage(asObject(item) ?? {}),
  );
  const calls = asArray(parseJson(attributes["ai.response.toolCalls"])).map((item) => {
    const raw = asObject(item) ?? {};
    return toolCall(raw["toolCallId"], raw["toolName"], raw["input"] ?? raw["args"]);
  });
  const responseId = asString(attributes["ai.response.id"]) ?? asString(attributes["gen_ai.response.id"]);
  const reasoning = asString(attributes["ai.response.reasoning"]);
  const cached = asNumber(attributes["ai.usage.cachedInputTokens"]);
  return {
    kind: "model",
    call: {
      messages,
      text: asText(attributes["ai.response.text"]),
      ...(reasoning && { reasoning }),
      toolCalls: calls,
      ...endAndLosses(
        attributes["ai.response.finishReason"] ?? attributes["gen_ai.response.finish_reasons"],
        attributes["ai.prompt.messages"],
      ),
      tools: readDefinitions(attributes["ai.prompt.tools"]) ?? [],
      model: asString(attributes["ai.response.model"]) ?? asString(attributes["ai.model.id"]),
      promptTokens: asNumber(attributes["ai.usage.inputTokens"] ?? attributes["ai.usage.promptTokens"]) ?? 0,
      completionTokens: asNumber(attributes["ai.usage.outputTokens"] ?? attributes["ai.usage.completionTokens"]) ?? 0,
      ...(cached !== undefined && { cachedTokens: cached }),
      ...(responseId && { responseId }),
    },
  };
}

function firstNonEmpty<T>(...lists: T[][]): T[] {
  return lists.find((list) => list.length > 0) ?? [];
}

const jsonKeys =
  /^(?:gen_ai\.(?:input|output)\.messages|gen_ai\.tool\.definitions|ai\.prompt\.messages|ai\.response\.toolCalls|mastra\.model_step\.(?:input|output))$/;

/** Why this span has lost text on its way, if it has. */
function cutOf(span: OtlpSpan): string | undefined {
  if (span.dropped > 0) return `${span.name}: ${span.dropped} attributes were dropped by the exporter`;
  if (Object.keys(span.attributes).length >= attributeLimit) {
    return `${span.name}: ${attributeLimit} attributes or more, where exporters stop by default`;
  }
  for (const [key, value] of Object.entries(span.attributes)) {
    if (typeof value !== "string") continue;
    const why = cutText(value, jsonKeys.test(key));
    if (why !== undefined) return `${span.name}: ${key} ${why}`;
  }
  return undefined;
}
