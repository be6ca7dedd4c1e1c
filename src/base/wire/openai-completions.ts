/** OpenAI plain completions: one prompt, one text. */
import { asString, defined, type Json } from "../../core/json-value.ts";
import { openaiChat, readChunks, readCompletion, readSettings, usageChunk, writeFacts } from "./openai-chat.ts";
import { writeFinish, writeUsage } from "./reply-facts.ts";
import { flatWriter, type ReplyTokens } from "./reply-writer.ts";
import type { WireApi, WireRequest } from "./wire-api.ts";
import { lose } from "./wire-api.ts";

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
  readReply: readCompletion,
  readEvents: readChunks,
  replyWriter(facts) {
    const ids: number[] = [];
    const logprobs = { texts: [] as string[], values: [] as number[] };
    let given: ReplyTokens = {};
    const choice = (text: string, finish: string | null, tokens: ReplyTokens = {}): Json => ({
      index: 0,
      text,
      logprobs: tokens.logprobs
        ? {
            tokens: tokens.logprobs.texts,
            token_logprobs: tokens.logprobs.values,
            top_logprobs: null,
            text_offset: null,
          }
        : null,
      finish_reason: finish,
      ...defined({ token_ids: tokens.ids, prompt_token_ids: tokens.promptIds }),
    });
    const chunk = (one: Json) => ({ ...writeFacts(facts, "text_completion"), choices: [one] });
    return flatWriter(facts, {
      added({ text }, _reply, part) {
        if (part.type !== "text") return [];
        const { tokens = {} } = part;
        given = { ...tokens, ...given };
        ids.push(...(tokens.ids ?? []));
        logprobs.texts.push(...(tokens.logprobs?.texts ?? []));
        logprobs.values.push(...(tokens.logprobs?.values ?? []));
        return [chunk(choice(text, null, tokens))];
      },
      end: (reply) => [
        chunk(choice("", writeFinish(reply), given.ids && { ids: [] })),
        ...usageChunk(facts, reply, "text_completion"),
        "[DONE]",
      ],
      whole(reply) {
        const all = { ...given, ...(given.ids && { ids }), ...(given.logprobs && { logprobs }) };
        return {
          ...chunk(choice(reply.text, writeFinish(reply), all)),
          ...(reply.usage && { usage: writeUsage(reply.usage) }),
        };
      },
    });
  },
  limitReply: (body, maxTokens) => ({ ...body, max_tokens: maxTokens }),
  askUsage: openaiChat.askUsage,
};
