/**
 * A policy (or an engine that samples) with its tokenizer as a model. It works on token ids throughout: the context comes in as ids, what was sampled
 * goes out as the very ids and log-probabilities it was sampled with, and tags are single special tokens where the
 * tokenizer has them. The same session key on every call of a chain lets the engine keep its cache and compute only what
 * is new.
 */
import type { Sample, Sampler } from "../core/engine.ts";
import type { ContinueEvent, ContinueRequest, Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

/** A model that samples from a policy or an engine. */
export function engineModel(engine: Sampler, tokenizer: Tokenizer, options: { name?: string } = {}): Model {
  return {
    name: options.name ?? engine.name,
    capabilities: {
      tokens: true,
      grammar: engine.capabilities.tokenMasks && !engine.exact ? "masks" : "none",
      contextWindow: engine.capabilities.maxContext,
    },
    tokenizer,
    countTokens: (text) => tokenizer.encodeWithSpecials(text).length,
    encodeText: (text) => tokenizer.encode(text),
    encodePrompt: (prompt) => tokenizer.encodePrompt(prompt),
    continue: (request) => sampleText(engine, tokenizer, request),
    endSession: (key) => engine.endSession?.(key),
    async close() {},
  };
}

async function* sampleText(
  engine: Sampler,
  tokenizer: Tokenizer,
  request: ContinueRequest,
): AsyncGenerator<ContinueEvent> {
  const tokens = request.tokens ?? [
    ...tokenizer.encodePrompt(request.prompt),
    ...tokenizer.encodeWithSpecials(request.text),
  ];
  const stops = stopsFor(engine, tokenizer, request);
  const pending: [token: number, logprob: number, entropy: number | undefined][] = [];
  let wake: () => void = () => {};
  let heard = 0;
  let sample: Sample | undefined;
  let failure: unknown;
  const running = engine
    .sample({
      tokens,
      maxTokens: request.maxTokens,
      temperature: request.temperature,
      topP: request.topP,
      topK: request.topK,
      seed: request.seed,
      entropies: request.entropies,
      sessionKey: request.sessionKey,
      signal: request.signal,
      stopTokens: [...stops.tokens, ...tokenizer.endOfTurn],
      stopSequences: stops.sequences,
      stopStrings: stops.strings,
      allowedTokens: stops.allowedTokens,
      onToken(token, logprob, entropy) {
        heard++;
        pending.push([token, logprob, entropy]);
        wake();
      },
    })
    .then(
      (result) => {
        sample = result;
        // An engine on another machine may not report token by token; what it did not report comes with its result.
        for (let index = heard; index < result.tokens.length; index++)
          pending.push([result.tokens[index]!, result.logprobs[index]!, result.entropies?.[index]]);
      },
      (error) => {
        failure = error;
      },
    )
    .finally(() => wake());

  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let kept = 0;
  for (;;) {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      const [token, logprob, entropy] = next;
      if (tokenizer.endOfTurn.includes(token)) continue;
      kept++;
      const text = decoder.decode(tokenizer.tokenBytes(token), { stream: true });
      yield {
        type: "delta",
        text,
        tokens: [token],
        logprobs: [logprob],
        ...(entropy !== undefined && { entropies: [entropy] }),
      };
    }
    if (failure !== undefined) throw failure;
    if (sample) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  await running;
  const rest = decoder.decode();
  if (rest !== "") yield { type: "delta", text: rest };
  const endedTurn = tokenizer.endOfTurn.includes(sample.tokens.at(-1) ?? -1) && !stops.reached();
  yield {
    type: "end",
    finish: sample.finish === "length" ? "length" : endedTurn ? "end" : "stop",
    usage: {
      promptTokens: tokens.length,
      completionTokens: kept,
      ...(sample.computedTokens === undefined
        ? {}
        : { cachedTokens: Math.max(0, tokens.length - sample.computedTokens) }),
    },
    // Published weights have a version; an engine without a published policy uses its current weights.
    ...("version" in engine ? { policyVersion: sample.policyVersion } : {}),
  };
}

interface Stops {
  tokens: number[];
  sequences: number[][];
  strings?: string[];
  allowedTokens: ContinueRequest["allowedTokens"];
  /** A stop string made of ordinary tokens was written. */
  reached(): boolean;
}

/**
 * Where to stop. A stop string that is one special token is a stop token. One that is not can be split into tokens in
 * several ways, so the text is watched instead: once the string is there, the end of the turn is the only token left. An
 * engine that takes no masks is told the strings, to watch the text itself.
 */
function stopsFor(engine: Sampler, tokenizer: Tokenizer, request: ContinueRequest): Stops {
  const tokens: number[] = [];
  const strings: string[] = [];
  for (const stop of request.stop) {
    const special = tokenizer.specialToken(stop);
    if (special === undefined) strings.push(stop);
    else tokens.push(special);
  }
  const end = tokenizer.endOfTurn[0];
  const { allowedTokens } = request;
  if (strings.length === 0) return { tokens, sequences: [], allowedTokens, reached: () => false };
  if (!engine.capabilities.tokenMasks || end === undefined) {
    const ends = tokenizer.endOfTurn.map((token) => new TextDecoder().decode(tokenizer.tokenBytes(token)));
    const sequences = strings.map((stop) => tokenizer.encode(stop));
    return { tokens, sequences, strings: [...request.stop, ...ends], allowedTokens, reached: () => false };
  }
  const longest = Math.max(...strings.map((stop) => stop.length));
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let tail = "";
  let seen = 0;
  let reached = false;
  return {
    tokens,
    sequences: [],
    reached: () => reached,
    allowedTokens(sampled) {
      for (; seen < sampled.length; seen++) {
        tail += decoder.decode(tokenizer.tokenBytes(sampled[seen]!), { stream: true });
        reached ||= strings.some((stop) => tail.includes(stop));
        tail = tail.slice(-longest * 2);
      }
      return reached ? [end] : allowedTokens?.(sampled);
    },
  };
}
