/** The model APIs that are understood, and which of them a request speaks. */
import type { Json } from "../../core/json-value.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { bedrockConverse } from "./bedrock-converse.ts";
import { gemini } from "./gemini.ts";
import { mistralConversations } from "./mistral-conversations.ts";
import { ollamaChat, ollamaGenerate } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiCompletions } from "./openai-completions.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { WireApi } from "./wire-api.ts";

/** Every API that can be read and written. */
export const wireApis: readonly WireApi[] = [
  openaiChat,
  openaiResponses,
  openaiCompletions,
  anthropicMessages,
  gemini,
  ollamaChat,
  ollamaGenerate,
  bedrockConverse,
];

/** The API that a path speaks, also one that is only read; undefined where it is not a model call. With a body, that has to fit too. */
export function apiOf(path: string, body?: Json): WireApi | undefined {
  const bare = path.split("?")[0] ?? "";
  return [...wireApis, mistralConversations].find(
    (api) => api.matches(bare) && (body === undefined || (api.accepts?.(body) ?? true)),
  );
}
