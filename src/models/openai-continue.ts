/**
 * Continuing a chain over HTTP. The answer is streamed; when the stream breaks, nothing that was received is lost: the
 * next try continues after it. Servers that leave the stop string out get it put back, because the chain's text must
 * hold what the model wrote.
 */
import { estimateTokens, requestTokens } from "../base/count/token-estimate.ts";
import { type HttpAnswer, HttpError } from "../base/http/http-client.ts";
import { serverEvents } from "../base/http/server-events.ts";
import { readChunkChoice } from "../base/wire/openai-chat.ts";
import { readUsage } from "../base/wire/reply-facts.ts";
import { errorText } from "../base/wire/wire-api.ts";
import type { Release } from "../base/work/limiter.ts";
import { CoaError } from "../core/errors.ts";
import { asObject, objectsOf, parseJson } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";
import type { CallUsage, ContinueEvent, ContinueRequest } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { type LlamaListener, llamaAddress, llamaListener, llamaRequest } from "./llama-completion.ts";
import { isJson } from "./openai-chat.ts";
import type { Connection } from "./openai-compatible.ts";
import { continueFields, keepStopFields, stopsFor } from "./server-kind.ts";

/** What one call has brought so far, over all its tries. */
interface Progress {
  text: string;
  tokens: number[];
  /** Set when the server has said how it ended. */
  finish?: string;
  stopReason?: unknown;
  usage?: CallUsage;
  tries: number;
}

/** Streams the continuation, trying again where that may help; `begin` waits until it may. */
export async function* continueText(
  connection: Connection,
  request: ContinueRequest,
  begin: () => Promise<Release | undefined>,
): AsyncGenerator<ContinueEvent> {
  const release = await begin();
  try {
    const progress: Progress = { text: "", tokens: [], tries: 0 };
    const { http, options } = connection;
    const retries = options.retries ?? 5;
    let heardBefore = 0; // tokens of earlier tries
    for (;;) {
      const before = progress.text.length;
      const tokensBefore = progress.tokens.length;
      try {
        const answer = await open(connection, request, progress, heardBefore);
        const native = isNative(connection) ? llamaListener(connection.tokenizer!) : undefined;
        // A server that ignores `stream` and answers whole is read as one event.
        const whole = isJson(answer.header("content-type"));
        for await (const data of whole ? [await answer.text()] : serverEvents(answer.chunks)) {
          if (data === "[DONE]") break;
          for (const event of hear(connection, data, progress, native)) yield event; // `yield*` costs three promises for each
        }
        if (progress.finish !== undefined) break;
        throw new HttpError(`${connection.baseURL}: the stream ended before the answer did`, { retryable: true });
      } catch (error) {
        if (!(error instanceof CoaError) || !error.retryable || progress.tries >= retries) throw error;
        const heard = progress.tokens.length - tokensBefore || estimateTokens(progress.text.slice(before));
        heardBefore += heard;
        if (heardBefore >= request.maxTokens) {
          progress.finish = "length";
          break;
        }
        await http.pause(progress.tries++, error, request.signal);
      }
    }
    yield* conclude(connection, request, progress, heardBefore);
  } finally {
    release?.();
  }
}

async function open(
  connection: Connection,
  request: ContinueRequest,
  progress: Progress,
  heardBefore: number,
): Promise<HttpAnswer> {
  const { http, baseURL } = connection;
  const path = connection.mode === "completions" ? "completions" : "chat/completions";
  const address = isNative(connection) ? llamaAddress(baseURL, "completion") : `${baseURL}/${path}`;
  const body = bodyFor(connection, request, progress, request.maxTokens - heardBefore);
  return http.send("POST", address, body, {
    headers: { ...connection.headers(request.sessionKey), accept: "text/event-stream" },
    signal: request.signal,
  });
}

function bodyFor(
  connection: Connection,
  request: ContinueRequest,
  progress: Progress,
  maxTokens: number,
): Record<string, unknown> {
  const { options, facts, mode, model, tokenizer } = connection;
  const text = request.text + progress.text;
  if (isNative(connection)) {
    return {
      ...llamaRequest(request, [...contextOf(tokenizer!, request), ...progress.tokens], maxTokens),
      ...options.extraBody,
    };
  }
  const local = facts.kind !== "openai" && facts.kind !== "other";
  return {
    model,
    stream: true,
    stream_options: { include_usage: true },
    stop: stopsFor(facts.kind, request.stop),
    [facts.kind === "openai" && mode !== "completions" ? "max_completion_tokens" : "max_tokens"]: maxTokens,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.topK === undefined || !local ? {} : { top_k: request.topK }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(facts.kind === "openai" && request.sessionKey ? { prompt_cache_key: request.sessionKey.slice(0, 64) } : {}),
    ...keepStopFields(facts.kind),
    ...contentFor(connection, request, text, progress.tokens),
    ...options.extraBody,
  };
}

/** Models whose servers leave the text of a message as it is. */
const keepsThoughts = /(?:^|\/)(?:gpt-[345]|o\d|claude|gemini|mistral-|command)/i;

function contentFor(
  connection: Connection,
  request: ContinueRequest,
  text: string,
  heard: readonly number[],
): Record<string, unknown> {
  const { mode, options, facts, tokenizer, model } = connection;
  if (mode === "turns") {
    // Which template a server uses is not known; that of a thinking model must find nothing to drop.
    const eaten = text.includes("</think>") && facts.kind !== "openai" && !keepsThoughts.test(model ?? "");
    return { messages: (eaten ? workSoFar : turnsOf)(request.prompt, text) };
  }
  if (mode === "continue") {
    if (text === "") return { messages: request.prompt };
    return { messages: [...request.prompt, { role: "assistant", content: text }], ...continueFields(facts.kind) };
  }
  if (tokenizer) {
    const context = contextOf(tokenizer, request);
    return { prompt: [...context, ...heard], logprobs: 1, return_token_ids: true, skip_special_tokens: false };
  }
  return { prompt: options.chatTemplate!(request.prompt) + text };
}

/** llama.cpp gives ids and log-probabilities on an endpoint of its own. */
function isNative({ mode, facts, tokenizer }: Connection): boolean {
  return mode === "completions" && facts.kind === "llama.cpp" && tokenizer !== undefined;
}

function contextOf(tokenizer: Tokenizer, request: ContinueRequest): readonly number[] {
  return request.tokens ?? [...tokenizer.encodePrompt(request.prompt), ...tokenizer.encodeWithSpecials(request.text)];
}

/** Reads one event of the stream: what it adds. */
function hear(
  connection: Connection,
  data: string,
  progress: Progress,
  native: LlamaListener | undefined,
): ContinueEvent[] {
  const { tokenizer } = connection;
  const chunk = asObject(parseJson(data));
  if (!chunk) throw new HttpError(`the stream contains malformed JSON: ${data.slice(0, 80)}`, { retryable: true });
  if (chunk["error"]) {
    const said = errorText(chunk["error"]);
    throw new HttpError(`${connection.baseURL}: the stream reports an error: ${said}`, { retryable: true });
  }
  if (native) {
    const heard = [...native.hear(chunk)].filter((event) => event.type === "delta");
    for (const event of heard) {
      progress.text += event.text;
      progress.tokens.push(...(event.tokens ?? []));
    }
    Object.assign(progress, native.ending());
    return heard;
  }
  const usage = readUsage(chunk["usage"]);
  if (usage) progress.usage = { promptTokens: 0, completionTokens: 0, ...usage };
  const choice = objectsOf(chunk["choices"])[0];
  if (!choice) return [];
  const { text, finish, stopReason, tokens: ids, logprobs } = readChunkChoice(choice);
  const tokens = ids.filter((token) => !tokenizer?.endOfTurn.includes(token));
  if (tokenizer && text !== "" && tokens.length === 0) {
    throw new CoaError(
      "model",
      `${connection.baseURL} returns no token ids (return_token_ids); leave the option tokenizer out, or use a server that has them (vLLM)`,
    );
  }
  progress.text += text;
  progress.tokens.push(...tokens);
  if (finish) Object.assign(progress, { finish, stopReason });
  if (text === "" && tokens.length === 0) return [];
  return [
    tokenizer ? { type: "delta", text, tokens, logprobs: logprobs.slice(0, tokens.length) } : { type: "delta", text },
  ];
}

function* conclude(
  connection: Connection,
  request: ContinueRequest,
  progress: Progress,
  heardBefore: number,
): Generator<ContinueEvent> {
  let finish: "stop" | "length" | "end" = progress.finish === "length" ? "length" : "end";
  if (finish === "end") {
    const stopped = request.stop.some((stop) => progress.text.trimEnd().endsWith(stop));
    const missing = stopped || connection.tokenizer ? undefined : missingStop(request, progress);
    if (missing !== undefined) yield { type: "delta", text: missing };
    if (stopped || missing !== undefined) finish = "stop";
  }
  const usage = progress.usage
    ? {
        ...progress.usage,
        // What earlier tries brought was sent back as part of the prompt of the last.
        promptTokens: Math.max(0, progress.usage.promptTokens - heardBefore),
        completionTokens: progress.usage.completionTokens + heardBefore,
      }
    : {
        promptTokens: requestTokens({ messages: request.prompt }) + estimateTokens(request.text),
        completionTokens: progress.tokens.length || estimateTokens(progress.text),
      };
  yield { type: "end", finish, usage };
}

/** The stop string that the server cut off: the closing form of the tag that is still open. */
function missingStop(request: ContinueRequest, progress: Progress): string | undefined {
  const { stopReason } = progress;
  if (typeof stopReason === "string" && request.stop.includes(stopReason)) return stopReason;
  const text = (request.text + progress.text).slice(-100_000);
  let found: { stop: string; at: number } | undefined;
  for (const stop of request.stop) {
    const tag = /^<\/(\w+)>$/.exec(stop)?.[1];
    if (!tag) continue;
    const at = text.lastIndexOf(`<${tag}>`);
    if (at > text.lastIndexOf(stop) && at > (found?.at ?? -1)) found = { stop, at };
  }
  return found?.stop;
}

/**
 * A chain as plain turns, for APIs that can neither continue a message nor complete raw text: what the model wrote is its
 * message, an observation is a message by the user. Observations cannot contain the tag themselves (the runtime
 * neutralises them), so splitting at it is safe.
 */
export function turnsOf(prompt: readonly Message[], text: string, observation = "observation"): Message[] {
  const messages: Message[] = [...prompt];
  const pattern = new RegExp(`\\s*(<${observation}>[\\s\\S]*?</${observation}>)\\s*`);
  const parts = text.split(pattern);
  parts.forEach((part, index) => {
    if (part === "") return;
    const role = index % 2 === 1 ? "user" : "assistant";
    const last = messages.at(-1);
    if (last?.role === role) messages[messages.length - 1] = { role, content: `${last.content}\n${part}` };
    else messages.push({ role, content: part });
  });
  if (messages.at(-1)?.role === "assistant") {
    messages.push({ role: "user", content: "Go on exactly where you stopped. Do not repeat anything." });
  }
  return messages;
}

/**
 * The same as one message by the user. Templates of models that think (Qwen3, DeepSeek) drop what stands before the last
 * closing think tag of an assistant's message, plans and observations among it; what the user says they leave alone.
 */
export function workSoFar(prompt: readonly Message[], text: string): Message[] {
  const last = prompt.at(-1);
  const asked = last?.role === "user" ? `${last.content}\n\n` : "";
  const content = `${asked}Your work so far:\n\n${text}\n\nGo on exactly where you stopped. Do not repeat anything.`;
  return [...(asked === "" ? prompt : prompt.slice(0, -1)), { role: "user", content }];
}
