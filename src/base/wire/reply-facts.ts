/**
 * What comes with the text of a reply, in the spellings of OpenAI-compatible servers: id, model, usage, how it ended.
 */

import { asNumber, asObject, asString, defined, type Json } from "../../core/json-value.ts";
import type { CallUsage } from "../../core/model.ts";
import type { WireFinish, WireReply } from "./wire-api.ts";

/** What a call used, in any of the spellings that OpenAI-compatible servers have for it. */
export function readUsage(value: unknown): Partial<CallUsage> | undefined {
  const usage = asObject(value);
  if (!usage) return undefined;
  const prompt = asObject(usage["prompt_tokens_details"]) ?? asObject(usage["input_tokens_details"]);
  const reply = asObject(usage["completion_tokens_details"]) ?? asObject(usage["output_tokens_details"]);
  const promptTokens = asNumber(usage["prompt_tokens"] ?? usage["input_tokens"]);
  const written = asNumber(usage["completion_tokens"] ?? usage["output_tokens"]);
  const reasoningTokens = asNumber(reply?.["reasoning_tokens"] ?? usage["reasoning_tokens"]);
  // Some servers (xAI, Gemini's OpenAI address) count thoughts in the sum alone; they are billed as output.
  const apart = (asNumber(usage["total_tokens"]) ?? 0) - (promptTokens ?? 0) - (written ?? 0);
  const thoughtsApart = apart > 0 && (reasoningTokens === undefined || apart === reasoningTokens);
  const found = defined({
    promptTokens,
    completionTokens: thoughtsApart && written !== undefined ? written + apart : written,
    // DeepSeek and Moonshot have fields of their own for what their caches held.
    cachedTokens: asNumber(prompt?.["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["cached_tokens"]),
    reasoningTokens: reasoningTokens ?? (thoughtsApart && written !== undefined ? apart : undefined),
  });
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Usage as OpenAI's APIs write it, each with its own two words. */
export function writeUsage(
  { promptTokens = 0, completionTokens = 0, cachedTokens, reasoningTokens }: Partial<CallUsage>,
  [prompt, reply]: readonly [string, string] = ["prompt", "completion"],
): Json {
  return {
    [`${prompt}_tokens`]: promptTokens,
    [`${reply}_tokens`]: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens !== undefined && { [`${prompt}_tokens_details`]: { cached_tokens: cachedTokens } }),
    ...(reasoningTokens !== undefined && { [`${reply}_tokens_details`]: { reasoning_tokens: reasoningTokens } }),
  };
}

/** Finish reasons as servers, SDKs and tracing systems write them. */
const finishes: [RegExp, WireFinish][] = [
  [/^(?:stop|stop_sequence|eos|eos_token|end_turn|end|completed?|normal)$/, "stop"],
  [/^(?:length|model_length|max_length|max_(?:output_|completion_)?tokens|model_context_window_exceeded)$/, "length"],
  [/^(?:tool_calls?|tool_use|function_calls?)$/, "tool_calls"],
  [
    /^(?:content_filter(?:ed)?|guardrail_intervened|refusal|safety|recitation|blocklist|prohibited_content|spii)$/,
    "refusal",
  ],
];

/** The finish reason in our words; in a list, the first counts. */
export function readFinish(value: unknown): WireFinish | undefined {
  const given = Array.isArray(value) ? value[0] : (asObject(value)?.["unified"] ?? value);
  const word = asString(given)?.toLowerCase().replaceAll("-", "_");
  if (!word || /^(?:unknown|null|none|finish_reason_unspecified)$/.test(word)) return undefined;
  return finishes.find(([pattern]) => pattern.test(word))?.[1] ?? "other";
}

/** Id, model and usage, which are in whole replies and in chunks. */
export function readReplyFacts(json: Json): Partial<WireReply> {
  return defined({
    responseId: asString(json["id"]),
    model: asString(json["model"]),
    usage: readUsage(json["usage"]),
  });
}

/** The finish reason as the API writes it. */
export function writeFinish({ finish, toolCalls }: Pick<WireReply, "finish" | "toolCalls">): string {
  if (finish === "refusal") return "content_filter";
  return finish && finish !== "other" ? finish : toolCalls.length > 0 ? "tool_calls" : "stop";
}

/** The same as Anthropic's models write it, directly or behind Bedrock, which has a word of its own for a refusal. */
export function writeStopReason(finish: WireFinish, refusal: string): string {
  const words = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", refusal, other: "end_turn" };
  return words[finish];
}
