/**
 * Servers that speak the OpenAI protocol differ in what they offer beyond it: continuing a message, keeping the stop
 * string, grammars, token ids. `GET /models` tells which server it is and how long its context is.
 */

import { asArray, asObject, asString, type Json } from "../core/json-value.ts";

export type ServerKind = "vllm" | "sglang" | "llama.cpp" | "openai" | "other";

export interface ServerFacts {
  kind: ServerKind;
  contextWindow?: number;
  /** The names of the models it serves. */
  models: string[];
  /** What it reads as special tokens, where it says so. */
  specials?: readonly string[];
}

/** Reads the answer of `GET /models`. */
export function readServerFacts(baseURL: string, model: string | undefined, answer: unknown): ServerFacts {
  const data = (answer as { data?: unknown }).data;
  const entries = (Array.isArray(data) ? data : []) as Record<string, unknown>[];
  const entry = entries.find((candidate) => candidate["id"] === model) ?? entries[0];
  const owner = String(entry?.["owned_by"] ?? "").toLowerCase();
  const about = (entry?.["meta"] ?? {}) as Record<string, unknown>;
  const window = entry?.["max_model_len"] ?? entry?.["context_length"] ?? about["n_ctx"] ?? about["n_ctx_train"];
  return {
    kind: kindOf(baseURL, owner),
    models: entries.map((candidate) => String(candidate["id"])),
    ...(typeof window === "number" ? { contextWindow: window } : {}),
  };
}

function kindOf(baseURL: string, owner: string): ServerKind {
  if (owner.includes("vllm")) return "vllm";
  if (owner.includes("sglang")) return "sglang";
  if (owner.includes("llamacpp") || owner.includes("llama.cpp")) return "llama.cpp";
  return /\/\/api\.openai\.com\b/.test(baseURL) ? "openai" : "other";
}

/** Whether the server continues a final assistant message instead of beginning a new one, takes token ids and returns those it sampled. */
export function servesWeights(kind: ServerKind): boolean {
  return kind === "vllm" || kind === "sglang" || kind === "llama.cpp";
}

/** Fields that make a server continue the final message. */
export function continueFields(kind: ServerKind): Record<string, unknown> {
  if (kind === "llama.cpp") return {}; // does it whenever the last message is the assistant's
  return kind === "vllm"
    ? { continue_final_message: true, add_generation_prompt: false }
    : { continue_final_message: true };
}

export function keepStopFields(kind: ServerKind): Record<string, unknown> {
  if (kind === "vllm") return { include_stop_str_in_output: true };
  return kind === "sglang" ? { no_stop_trim: true } : {};
}

/** OpenAI itself refuses more; elsewhere the runtime cuts what comes after the others. */
export function stopsFor(kind: ServerKind, stop: readonly string[]): readonly string[] {
  return kind === "openai" || kind === "other" ? stop.slice(0, 4) : stop;
}

/**
 * What a server's description of its tokenizer (`/props` of llama.cpp, `/tokenizer_info` of vLLM) names as special: tokens by
 * themselves, and what its chat template writes around messages.
 */
export function specialsIn(described: Json | undefined): string[] {
  const named = ["bos_token", "eos_token", "unk_token", "pad_token"].map((field) => described?.[field]);
  const added = Object.values(asObject(described?.["added_tokens_decoder"]) ?? {});
  const listed = asArray(described?.["additional_special_tokens"]);
  const tokens = [...named, ...added, ...listed].map((token) => asString(asObject(token)?.["content"] ?? token) ?? "");
  const template = asString(described?.["chat_template"])?.slice(0, 200_000) ?? "";
  // The template's own text, and the texts within its code.
  const code = template.match(/\{[{%][\s\S]*?[%}]\}/g) ?? [];
  const texts = [
    template.replace(/\{[{%#][\s\S]*?[%}#]\}/g, "\n"),
    ...code.flatMap((part) => part.match(/'[^']*'|"[^"]*"/g) ?? []),
  ];
  const markers = texts.flatMap((text) => text.match(/<[^<>\s'"]{1,60}>|\[\/?[A-Za-z_]{2,40}\]/g) ?? []);
  return [...new Set([...tokens.filter((token) => token !== ""), ...markers])];
}
