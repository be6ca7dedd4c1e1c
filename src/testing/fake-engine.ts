/**
 * An engine without a network: it "samples" what a script says, and keeps the records that a real engine keeps:
 * sessions and what of a context is new, masks, stop tokens, log-probabilities. Training calls are counted and answered
 * with zeros.
 */

import {
  type Engine,
  type EngineCapabilities,
  endsAtStop,
  type Sample,
  type SampleRequest,
  type Sampler,
  sampleManyWith,
  summedLosses,
} from "../core/engine.ts";
import { CoaError } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";

export interface FakeEngineOptions {
  maxContext?: number;
  tokenMasks?: boolean;
}

/** An engine that samples the script's lines; `requests` remembers what it was asked. */
export function fakeEngine(
  tokenizer: Tokenizer,
  script: (request: SampleRequest, call: number) => string,
  options: FakeEngineOptions = {},
): Engine &
  Sampler & { readonly requests: SampleRequest[]; readonly sessions: ReadonlyMap<string, readonly number[]> } {
  const requests: SampleRequest[] = [];
  const sessions = new Map<string, number[]>();
  const zeros = async (examples: readonly { targets: Int32Array }[]) => ({
    logprobs: examples.map((example) => new Float32Array(example.targets.length)),
  });

  function cachedPrefix(request: SampleRequest): number {
    const kept = (request.sessionKey && sessions.get(request.sessionKey)) || [];
    let same = 0;
    while (same < kept.length && kept[same] === request.tokens[same]) same++;
    return same;
  }

  const capabilities: EngineCapabilities = {
    losses: summedLosses,
    logprobs: "sampled",
    fullParameter: true,
    gradientClipping: true,
    gradientNorm: true,
    tokenMasks: options.tokenMasks ?? true,
    overlap: true,
    maxContext: options.maxContext ?? 4096,
    vocabularySize: tokenizer.vocabularySize,
  };
  const endSession = (key: string) => void sessions.delete(key);
  async function sample(request: SampleRequest): Promise<Sample> {
    request.signal?.throwIfAborted();
    const computedTokens = request.tokens.length - cachedPrefix(request);
    const wanted = tokenizer.encodeWithSpecials(script(request, requests.length));
    requests.push({ ...request, tokens: [...request.tokens] });
    const tokens: number[] = [];
    let finish: "stop" | "length" = "length";
    while (tokens.length < request.maxTokens) {
      const allowed = request.allowedTokens?.(tokens);
      let token = wanted[tokens.length] ?? tokenizer.endOfTurn[0]!;
      if (allowed && !allowed.includes(token)) {
        if (allowed.length === 0) throw new CoaError("engine", "no token is allowed");
        token = allowed[(tokens.length * 31) % allowed.length]!;
      }
      tokens.push(token);
      request.onToken?.(token, -0.5);
      if (tokens.length % 8 === 0) await null;
      if (endsAtStop(tokens, tokens.length, request)) {
        finish = "stop";
        break;
      }
    }
    if (request.sessionKey) sessions.set(request.sessionKey, [...request.tokens, ...tokens]);
    return { tokens, logprobs: tokens.map(() => -0.5), finish, policyVersion: 0, computedTokens };
  }

  return {
    name: "fake",
    requests,
    sessions,
    capabilities,
    sample,
    endSession,
    publish: async () => ({
      name: "fake",
      version: 0,
      capabilities,
      sample,
      sampleMany: sampleManyWith(sample),
      endSession,
    }),
    forward: zeros,
    forwardBackward: zeros,
    optimStep: async () => ({ gradientNorm: 0 }),
    saveState: async (folder) => folder,
    loadState: async () => {},
    saveModel: async () => {},
    close: async () => {},
  };
}
