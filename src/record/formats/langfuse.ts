/** Langfuse exports: a trace with its observations, or a list of observations. */

import { cutText } from "../../base/text/cut-text.ts";
import { readTools } from "../../base/wire/openai-chat.ts";
import { asArray, asNumber, asObject, asString, asText, objectsOf } from "../../core/json-value.ts";
import { plainSpan, type TraceSpan, toolOf } from "../trace-span.ts";
import { endAndLosses, readPartMessages, replyOf } from "./genai-messages.ts";
import { readLangChainMessage } from "./langchain.ts";
import { timeOf } from "./langsmith.ts";

type Json = Record<string, unknown>;

/** Trace spans of traces with their observations, or of observations alone. */
export function langfuseToSpans(traces: readonly Json[]): TraceSpan[] {
  return traces.flatMap((raw) => {
    const own = Array.isArray(raw["observations"]) ? raw["observations"] : [raw];
    const spans = own.flatMap((one) => spanOf(asObject(one) ?? {}, langfuseTrace(raw)));
    const feedback = objectsOf(raw["scores"]).flatMap((one) => {
      const score = asNumber(one["value"]);
      return score === undefined ? [] : [{ name: asString(one["name"]) ?? "score", score }];
    });
    const session = asString(raw["sessionId"]);
    const more = { ...(session && { session }), ...(feedback.length > 0 && { feedback }) };
    return spans.map((span, index) => (index === 0 ? { ...span, ...more } : span));
  });
}

/** The trace that a trace, or an observation by itself, is of. */
export function langfuseTrace(raw: Json): string {
  return asText(Array.isArray(raw["observations"]) ? raw["id"] : raw["traceId"]);
}

function spanOf(raw: Json, traceId: string): TraceSpan[] {
  const id = asString(raw["id"]);
  const type = asString(raw["type"])?.toUpperCase();
  if (!id || !type) return [];
  const base = plainSpan({
    ...{ id, traceId, name: asString(raw["name"]) ?? "", parentId: asString(raw["parentObservationId"]) },
    ...{ startedAt: timeOf(raw["startTime"]), endedAt: timeOf(raw["endTime"]) },
    error: raw["level"] === "ERROR" ? (asString(raw["statusMessage"]) ?? "failed") : undefined,
  });
  const cut = ["input", "output"].map((key) => typeof raw[key] === "string" && cutText(raw[key])).find(Boolean);
  if (type === "AGENT") return [{ ...base, kind: "agent", agent: { name: base.name } }];
  if (type === "GENERATION") return [{ ...base, kind: "model", call: callOf(raw), ...(cut && { cut: String(cut) }) }];
  if (type === "TOOL") {
    const metadata = asObject(raw["metadata"]) ?? {};
    const callId = metadata["tool_call_id"] ?? metadata["toolCallId"];
    const tool = toolOf(base.name, callId, raw["input"] ?? "", raw["output"]);
    return [{ ...base, kind: "tool", tool, ...(cut && { cut: String(cut) }) }];
  }
  return [base];
}

function callOf(raw: Json): NonNullable<TraceSpan["call"]> {
  const input = raw["input"];
  const listed = Array.isArray(input) ? input : asArray(asObject(input)?.["messages"]);
  const messages =
    typeof input === "string"
      ? [{ role: "user" as const, content: input }]
      : listed.flatMap((item) =>
          asObject(item)?.["parts"] ? readPartMessages([item]) : (readLangChainMessage(item) ?? []),
        );
  const output = raw["output"];
  const said =
    typeof output === "string"
      ? [{ role: "assistant" as const, content: output }]
      : (Array.isArray(output) ? output : [output]).flatMap(
          (item) => readLangChainMessage({ role: "assistant", ...asObject(item) }) ?? [],
        );
  const usage = asObject(raw["usageDetails"]) ?? asObject(raw["usage"]) ?? {};
  const cached = asNumber(usage["input_cached_tokens"] ?? usage["cache_read_input_tokens"]);
  return {
    messages,
    ...replyOf(said),
    ...endAndLosses(
      asObject(raw["metadata"])?.["finish_reason"] ??
        asObject(output)?.["finish_reason"] ??
        objectsOf(asObject(output)?.["choices"])[0]?.["finish_reason"],
      input,
      Array.isArray(output) ? output : [output],
    ),
    tools: readTools(asObject(input)?.["tools"] ?? asObject(raw["modelParameters"])?.["tools"]),
    model: asString(raw["model"]),
    promptTokens: asNumber(usage["input"] ?? raw["promptTokens"]) ?? 0,
    completionTokens: asNumber(usage["output"] ?? raw["completionTokens"]) ?? 0,
    ...(cached !== undefined && { cachedTokens: cached }),
  };
}
