/**
 * llama.cpp's own endpoint, `POST /completion`: it takes token ids and returns the ids that were sampled with their
 * log-probabilities, which its OpenAI endpoints do not. The stream leaves out tokens that end inside a character; their
 * ids are found again from the bytes of the text, without a log-probability.
 */
import { asNumber, asString, type Json, objectsOf } from "../core/json-value.ts";
import type { CallUsage, ContinueEvent, ContinueRequest } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

/** The address beside the version: `http://host:8080/v1` has it at `http://host:8080/completion`. */
export function llamaAddress(baseURL: string, path: string): string {
  return `${baseURL.replace(/\/v1$/, "")}/${path}`;
}

/** The request for a continuation of these ids. What the caller leaves open is neutral: no cut-off, no penalty. */
export function llamaRequest(
  request: ContinueRequest,
  tokens: readonly number[],
  maxTokens: number,
): Record<string, unknown> {
  return {
    prompt: tokens,
    n_predict: maxTokens,
    stream: true,
    stop: request.stop,
    return_tokens: true,
    n_probs: 1,
    cache_prompt: true,
    temperature: request.temperature ?? 1,
    top_p: request.topP ?? 1,
    top_k: request.topK ?? 0,
    min_p: 0,
    typical_p: 1,
    repeat_penalty: 1,
    ...(request.seed === undefined ? {} : { seed: request.seed }),
  };
}

export interface LlamaListener {
  /** What one event of the stream brings. */
  hear(event: Json): ContinueEvent[];
  /** How it ended, once it has. */
  ending(): { finish: "stop" | "length"; usage: CallUsage } | undefined;
}

export function llamaListener(tokenizer: Tokenizer): LlamaListener {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let counted = 0;
  let unsent = 0; // bytes of known tokens whose text the server holds back, in case a stop string begins there
  let ending: ReturnType<LlamaListener["ending"]>;

  const delta = (token: number, logprob: number | undefined): ContinueEvent => ({
    type: "delta",
    text: decoder.decode(tokenizer.tokenBytes(token), { stream: true }),
    tokens: [token],
    ...(logprob === undefined ? {} : { logprobs: [logprob] }),
  });

  return {
    ending: () => ending,
    hear(event) {
      if (event["stop"] === true) ending = endingOf(event);
      const [id] = (event["tokens"] as unknown[] | undefined) ?? [];
      if (typeof id !== "number") return [];
      const own = tokenizer.tokenBytes(id);
      const sent = new TextEncoder().encode(asString(event["content"]) ?? "");
      const missing = (asNumber(event["tokens_predicted"]) ?? counted + 1) - counted - 1;
      const lost = missing > 0 ? splitBytes(tokenizer, sent.slice(unsent, -own.length), missing) : [];
      counted += 1 + Math.max(0, missing);
      unsent = sent.length > 0 ? 0 : unsent + own.length;
      const logprob = asNumber(objectsOf(event["completion_probabilities"])[0]?.["logprob"]);
      const events = [...lost.map((token) => delta(token, undefined))];
      return tokenizer.endOfTurn.includes(id) ? events : [...events, delta(id, logprob)];
    },
  };
}

function endingOf(event: Json): { finish: "stop" | "length"; usage: CallUsage } {
  const timings = event["timings"] as Json | undefined;
  const cached = asNumber(timings?.["cache_n"]);
  return {
    finish: event["stop_type"] === "limit" ? "length" : "stop",
    usage: {
      promptTokens: asNumber(event["tokens_evaluated"]) ?? 0,
      completionTokens: asNumber(event["tokens_predicted"]) ?? 0,
      ...(cached === undefined ? {} : { cachedTokens: cached }),
    },
  };
}

const tokensByBytes = new WeakMap<Tokenizer, Map<string, number>>();

/** The ids of so many tokens that are these bytes together; the longest first, as an encoder would. */
function splitBytes(tokenizer: Tokenizer, bytes: Uint8Array, count: number): number[] {
  const known = tokensByBytes.get(tokenizer) ?? readVocabulary(tokenizer);
  const split = (from: number, left: number): number[] | undefined => {
    if (left === 0) return from === bytes.length ? [] : undefined;
    for (let end = bytes.length - left + 1; end > from; end--) {
      const id = known.get(Buffer.from(bytes.subarray(from, end)).toString("latin1"));
      const rest = id === undefined ? undefined : split(end, left - 1);
      if (rest) return [id!, ...rest];
    }
    return undefined;
  };
  return split(0, count) ?? tokenizer.encode(new TextDecoder().decode(bytes));
}

function readVocabulary(tokenizer: Tokenizer): Map<string, number> {
  const known = new Map<string, number>();
  for (let id = 0; id < tokenizer.vocabularySize; id++) {
    try {
      const key = Buffer.from(tokenizer.tokenBytes(id)).toString("latin1");
      if (!known.has(key)) known.set(key, id);
    } catch {
      // a hole in the vocabulary
    }
  }
  tokensByBytes.set(tokenizer, known);
  return known;
}
