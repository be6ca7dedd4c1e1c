/** OpenAI plain completions: one prompt, one text. */
import { asString } from "../../core/json-value.ts";
import {
  chunkReader,
  openaiChat,
  readCompletion,
  readSettings,
  writeFinish,
  writeSettings,
  writeUsage,
} from "./openai-chat.ts";
import type { WireApi, WireReply } from "./wire-api.ts";

function choice(reply: WireReply, text: string, finish: string | null) {
  return {
    id: reply.responseId ?? "",
    object: "text_completion",
    model: reply.model ?? "",
    choices: [{ index: 0, text, finish_reason: finish }],
  };
}

/** OpenAI plain completions. */
export const openaiCompletions: WireApi = {
  name: "openai-completions",
  framing: "sse",
  lastEvent: openaiChat.lastEvent,
  matches: (path) => path.endsWith("/completions") && !openaiChat.matches(path),
  readRequest(body) {
    const prompt = body["prompt"];
    const text = Array.isArray(prompt) ? prompt.filter((part) => typeof part === "string").join("") : asString(prompt);
    return { ...readSettings(body), messages: [{ role: "user", content: text ?? "" }], tools: [] };
  },
  writeRequest(request) {
    const prompt = request.messages.map(({ content }) => content).join("\n");
    const stream = request.stream ? { stream: true, stream_options: { include_usage: true } } : {};
    return { path: "/v1/completions", body: { ...writeSettings(request), prompt, ...stream } };
  },
  readReply: readCompletion,
  writeReply: (reply) => ({ ...choice(reply, reply.text, writeFinish(reply)), ...writeUsage(reply.usage) }),
  replyReader: chunkReader,
  writeEvents: (reply, pieces = [reply.text]) => [
    ...pieces.map((piece) => choice(reply, piece, null)),
    ...(reply.finished ? [choice(reply, "", writeFinish(reply))] : []),
    ...(reply.usage ? [{ ...choice(reply, "", null), choices: [], ...writeUsage(reply.usage) }] : []),
    ...(reply.finished ? ["[DONE]"] : []),
  ],
  limitReply: (body, maxTokens) => ({ ...body, max_tokens: maxTokens }),
  askUsage: openaiChat.askUsage,
};
