/** OpenAI plain completions: one prompt, one text. */
import { asString } from "../../core/json-value.ts";
import { chunkReader, openaiChat, readCompletion, readSettings, writeSettings } from "./openai-chat.ts";
import { writeFinish, writeUsage } from "./reply-facts.ts";
import type { WireApi, WireReply, WireRequest } from "./wire-api.ts";
import { lose } from "./wire-api.ts";

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
    const given = body["prompt"];
    const prompt = Array.isArray(given) && given.length === 1 ? given[0] : given;
    const text = Array.isArray(prompt) ? prompt.filter((part) => typeof part === "string").join("") : asString(prompt);
    const request: WireRequest = {
      ...readSettings(body),
      messages: [{ role: "user", content: text ?? "" }],
      tools: [],
    };
    // Several prompts at once, tokens instead of text, a text to fill in between, a reply that begins with the prompt.
    if (typeof prompt !== "string" || body["suffix"] || body["echo"] === true) lose(request, "prompt");
    return request;
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
