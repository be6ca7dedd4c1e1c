/**
 * `POST /v1/completions`, token-in/token-out: the bare model without chain or tools, as trainers use a sampling server. A
 * prompt is text or token ids; ids and log-probabilities come back as sampled, so that nothing is tokenised twice.
 */
import { parse, Refusal } from "../base/http/refusal.ts";
import { readSettings } from "../base/wire/openai-chat.ts";
import { openaiCompletions } from "../base/wire/openai-completions.ts";
import type { ReplyTokens, ReplyWriter } from "../base/wire/reply-writer.ts";
import { asNumber, asObject } from "../core/json-value.ts";
import type { ContinueEvent } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { ChainService } from "./chain-service.ts";
import type { Endpoint } from "./keys.ts";
import { checkModel, requestFields } from "./request-fields.ts";
import { type Emit, sendReply } from "./send-reply.ts";
import { type StopCut, stopCut } from "./stop-sequences.ts";

export function completionsEndpoint(service: ChainService): Endpoint {
  return async (call) => {
    const { request, caller, id } = call;
    const body = parse(requestFields.completions, await call.json());
    const settings = readSettings(body);
    checkModel(service, settings.model);
    const { tokenizer } = service.model;
    if (!tokenizer) {
      throw new Refusal(400, "/v1/completions needs a model that runs in this process: call the model's own server", {
        code: "unsupported_model",
      });
    }
    if ((settings.samples ?? 1) !== 1) throw new Refusal(400, "n above 1 is not served", { param: "n" });
    const prompt = promptTokens(body["prompt"], tokenizer);
    const stop = (settings.stop ?? []).filter((text) => text !== "");
    const events = service.model.continue({
      prompt: [],
      text: "",
      tokens: prompt,
      stop,
      maxTokens: settings.maxTokens ?? 16,
      temperature: settings.temperature ?? 1,
      topP: settings.topP,
      topK: asNumber(body["top_k"]),
      seed: settings.seed,
      signal: request.signal,
    });
    const writer = openaiCompletions.replyWriter({
      responseId: `cmpl-${id.slice(4)}`,
      model: service.name,
      created: Math.floor(Date.now() / 1000),
      streamUsage: asObject(body["stream_options"])?.["include_usage"] === true,
    });
    const wanted = {
      ...(body["return_token_ids"] === true && { promptIds: prompt }),
      ...((body["logprobs"] === true || asNumber(body["logprobs"]) !== undefined) && { tokenizer }),
      stop: stopCut(body["include_stop_str_in_output"] === true ? [] : stop),
    };
    const release = await service.place(caller, request.signal);
    try {
      const spend = (written: number) =>
        caller.spend({ promptTokens: prompt.length, completionTokens: written, billedTokens: prompt.length + written, costUsd: 0 }); // biome-ignore format: one usage
      return await sendReply(call, { stream: settings.stream === true, whole: writer.whole }, (emit) =>
        tellCompletion(events, writer, { ...wanted, spend }, emit),
      );
    } finally {
      release();
    }
  };
}

interface Wanted {
  /** Ids are shown, those of the prompt with the first. */
  promptIds?: readonly number[];
  /** Log-probabilities are shown, with the text of each token. */
  tokenizer?: Tokenizer;
  stop: StopCut;
}

/** Sends what the model samples. The text stops before the stop string; ids are as they were sampled. */
async function tellCompletion(
  events: AsyncIterable<ContinueEvent>,
  writer: ReplyWriter,
  { promptIds, tokenizer, stop, spend }: Wanted & { spend(written: number): Promise<void> },
  emit: Emit,
): Promise<void> {
  let first = true;
  let written = 0;
  const piece = (text: string, ids: readonly number[] = [], logprobs: readonly number[] = []): unknown[] => {
    const tokens: ReplyTokens = {
      ...(promptIds && { ids, ...(first && { promptIds }) }),
      ...(tokenizer && {
        logprobs: {
          texts: ids.map((token) => new TextDecoder().decode(tokenizer.tokenBytes(token))),
          values: logprobs,
        },
      }),
    };
    first = false;
    return writer.add({ type: "text", text, tokens });
  };
  try {
    for await (const event of events) {
      if (event.type === "delta") {
        written += event.tokens?.length ?? 0;
        await emit(piece(stop.add(event.text), event.tokens, event.logprobs));
        continue;
      }
      const rest = stop.rest();
      if (rest !== "" || first) void emit(piece(rest));
      const { finish, usage } = event;
      written = usage.completionTokens;
      const { cachedTokens = 0 } = usage;
      await emit(writer.end({ finish: finish === "length" ? "length" : "stop", usage: { ...usage, cachedTokens } }));
      return;
    }
    throw new Refusal(502, "the model stopped before its answer was complete", { code: "model_failed" });
  } finally {
    await spend(written); // also where the client left
  }
}

function promptTokens(prompt: unknown, tokenizer: Tokenizer): number[] {
  const one = Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] !== "number" ? prompt[0] : prompt;
  if (typeof one === "string") return tokenizer.encodeWithSpecials(one);
  if (!Array.isArray(one) || one.length === 0)
    throw new Refusal(400, "prompt must be text or token ids", { param: "prompt" });
  const wrong = one.find((token) => !Number.isInteger(token) || token < 0 || token >= tokenizer.vocabularySize);
  if (wrong !== undefined) {
    throw new Refusal(400, `${JSON.stringify(wrong)} is not a token of this model; send one prompt in each request`, {
      param: "prompt",
    });
  }
  return one as number[];
}
