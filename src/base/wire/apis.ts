/** The model APIs that are understood, and which of them a request speaks. */
import { openaiChat } from "./openai-chat.ts";
import { openaiCompletions } from "./openai-completions.ts";
import { openaiResponses } from "./openai-responses.ts";
import type { WireApi } from "./wire-api.ts";

/** Every API that can be read and written. */
export const wireApis: readonly WireApi[] = [openaiChat, openaiResponses, openaiCompletions];

/** The API that a path speaks; undefined where it is not a model call. */
export function apiOf(path: string): WireApi | undefined {
  const bare = path.split("?")[0] ?? "";
  return wireApis.find((api) => api.matches(bare));
}
