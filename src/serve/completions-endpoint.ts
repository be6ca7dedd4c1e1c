/**
 * `POST /v1/completions`, token-in/token-out: the bare model without chain or tools, as trainers use a sampling server. A
 * prompt is text or token ids; ids and log-probabilities come back as sampled, so that nothing is tokenised twice.
 */

import { eventStream } from "../base/http/event-stream.ts";
import { replyJson } from "../base/http/handler.ts";
import { readSettings } from "../base/wire/openai-chat.ts";
import { asNumber, asObject, type Json } from "../core/json-value.ts";
import type { CallUsage, ContinueEvent } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { ApiError, apiErrorOf, openaiError } from "./api-error.ts";
import type { ChainService } from "./chain-service.ts";
import { checkModel } from "./check-request.ts";
import type { Call } from "./endpoint.ts";
import { checkFields, requestShapes } from "./request-shapes.ts";

interface Piece {
  text: string;
  tokens: number[];
  logprobs: number[];
}

/** Answers one completion. */
export function completionsEndpoint(service: ChainService): (call: Call) => Promise<void> {
  return async ({ request, reply, caller, id, headers, json }) => {
    const body = await json();
    checkFields(requestShapes.completions, body);
    const settings = readSettings(body);
    checkModel(service, settings.model);
    const { tokenizer } = service.model;
    if (!tokenizer) {
      throw new ApiError(400, "plain completions are served for models of our own: ask this model's server itself", {
        code: "unsupported_model",
      });
    }
    if ((settings.samples ?? 1) !== 1) throw new ApiError(400, "n above 1 is not served", { param: "n" });
    const prompt = promptTokens(body["prompt"], tokenizer);
    const wanted = {
      ids: body["return_token_ids"] === true,
      logprobs: body["logprobs"] === true || asNumber(body["logprobs"]) !== undefined,
    };
    const facts: Json = {
      id: `cmpl-${id.slice(4)}`,
      object: "text_completion",
      created: Math.floor(Date.now() / 1000),
      model: service.name,
    };
    const choice = (piece: Piece, finish: string | null, first: boolean): Json => ({
      index: 0,
      text: piece.text,
      logprobs: wanted.logprobs ? logprobsOf(piece, tokenizer) : null,
      finish_reason: finish,
      ...(wanted.ids && { token_ids: piece.tokens, ...(first && { prompt_token_ids: prompt }) }),
    });
    const events = service.model.continue({
      prompt: [],
      text: "",
      tokens: prompt,
      stop: settings.stop ?? [],
      maxTokens: settings.maxTokens ?? 16,
      temperature: settings.temperature ?? 1,
      topP: settings.topP,
      topK: asNumber(body["top_k"]),
      seed: settings.seed,
      signal: request.signal,
    });
    const release = await service.place(request.signal);
    try {
      if (!settings.stream) {
        const whole: Piece = { text: "", tokens: [], logprobs: [] };
        const end = await readAll(events, (piece) => {
          whole.text += piece.text;
          whole.tokens.push(...piece.tokens);
          whole.logprobs.push(...piece.logprobs);
        });
        const keepStop = body["include_stop_str_in_output"] === true;
        if (end.finish === "stop" && !keepStop) whole.text = withoutStop(whole.text, settings.stop ?? []);
        caller.spend(end.usage.promptTokens + end.usage.completionTokens, 0);
        const choices = [choice(whole, end.finish === "length" ? "length" : "stop", true)];
        replyJson(reply, 200, { ...facts, choices, usage: usageOf(end.usage) }, headers);
        return;
      }
      const stream = eventStream(reply, headers);
      try {
        let first = true;
        const end = await readAll(events, async (piece) => {
          await stream.write(JSON.stringify({ ...facts, choices: [choice(piece, null, first)] }));
          first = false;
        });
        caller.spend(end.usage.promptTokens + end.usage.completionTokens, 0);
        const nothing: Piece = { text: "", tokens: [], logprobs: [] };
        const finish = end.finish === "length" ? "length" : "stop";
        await stream.write(JSON.stringify({ ...facts, choices: [choice(nothing, finish, first)] }));
        if (asObject(body["stream_options"])?.["include_usage"] === true)
          await stream.write(JSON.stringify({ ...facts, choices: [], usage: usageOf(end.usage) }));
        await stream.write("[DONE]");
      } catch (error) {
        if (!stream.opened || request.signal.aborted) throw error;
        await stream.write(JSON.stringify(openaiError(apiErrorOf(error))));
      } finally {
        stream.end();
      }
    } finally {
      release();
    }
  };
}

type End = Extract<ContinueEvent, { type: "end" }>;

async function readAll(
  events: AsyncIterable<ContinueEvent>,
  take: (piece: Piece) => Promise<void> | void,
): Promise<End> {
  for await (const event of events) {
    if (event.type === "end") return event;
    await take({ text: event.text, tokens: event.tokens ?? [], logprobs: event.logprobs ?? [] });
  }
  throw new ApiError(502, "the model stopped before its answer was complete", { code: "model_failed" });
}

function promptTokens(prompt: unknown, tokenizer: Tokenizer): number[] {
  const one = Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] !== "number" ? prompt[0] : prompt;
  if (typeof one === "string") return tokenizer.encodeWithSpecials(one);
  if (!Array.isArray(one) || one.length === 0)
    throw new ApiError(400, "prompt must be text or token ids", { param: "prompt" });
  const wrong = one.find((token) => !Number.isInteger(token) || token < 0 || token >= tokenizer.vocabularySize);
  if (wrong !== undefined) {
    throw new ApiError(400, `${JSON.stringify(wrong)} is not a token of this model; send one prompt in each request`, {
      param: "prompt",
    });
  }
  return one as number[];
}

function logprobsOf({ tokens, logprobs }: Piece, tokenizer: Tokenizer): Json {
  const decoder = new TextDecoder();
  return {
    tokens: tokens.map((token) => decoder.decode(tokenizer.tokenBytes(token))),
    token_logprobs: logprobs,
    top_logprobs: null,
    text_offset: null,
  };
}

function withoutStop(text: string, stops: readonly string[]): string {
  const found = stops.find((stop) => text.endsWith(stop));
  return found === undefined ? text : text.slice(0, -found.length);
}

function usageOf({ promptTokens, completionTokens, cachedTokens = 0 }: CallUsage): Json {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
