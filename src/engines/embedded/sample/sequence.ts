/** One request on its way: what it asked, what it has, and whether its next token may be drawn. */

import { seededRandom } from "../../../base/work/random.ts";
import { endsAtStop } from "../../../core/engine.ts";
import { CoaError } from "../../../core/errors.ts";
import { brokenLogits, type Drawn, drawFromLogits, drawFromWeights, entropyOf } from "./draw-token.ts";
import type { SamplerEvent, SamplerRequest } from "./sampler.ts";

export interface Sequence {
  request: SamplerRequest;
  tokens: number[];
  /** Positions whose keys and values are in the cache. */
  computed: number;
  pages: number[];
  /** Which page table is its own while it runs. */
  slot: number;
  uniform: () => number;
  /** Context tokens that the session's cache did not have. */
  contextComputed: number;
  /** A running sequence that starts with the same tokens: once it has computed them, its cache is taken over. */
  twin: { sequence: Sequence; shared: number } | undefined;
  mask: { known: boolean; allowed: readonly number[] | undefined };
  /** Logits that wait for a mask. */
  heldLogits: Float32Array | undefined;
}

/** A sequence that has not started. */
export function newSequence(request: SamplerRequest): Sequence {
  const seed = request.seed ?? Math.floor(Math.random() * 2 ** 32);
  // A chain sends the same seed with every continuation; its length tells the continuations apart.
  const mixed = Math.imul(seed ^ Math.imul(request.tokens.length, 0x9e3779b1), 0x85ebca6b) >>> 0;
  return {
    request,
    tokens: [...request.tokens],
    computed: 0,
    pages: [],
    slot: -1,
    uniform: seededRandom(mixed).next,
    contextComputed: request.tokens.length,
    twin: undefined,
    mask: { known: !request.masked, allowed: undefined },
    heldLogits: undefined,
  };
}

/** Whether weights may be exponentiated and summed where they are computed: no mask, no cut. Greedy is such a case. */
export function isPlain({ request }: Sequence): boolean {
  return !request.masked && (isGreedy(request) || ((request.topP ?? 1) >= 1 && (request.topK ?? 0) <= 0));
}

const isGreedy = (request: SamplerRequest) => request.temperature === 0;

/** 1 / temperature of the distribution whose log-probabilities are reported. */
export function logitScale({ request }: Sequence): number {
  return isGreedy(request) ? 1 : 1 / (request.temperature ?? 1);
}

export function drawPlain(sequence: Sequence, weights: Float32Array, sum: number): Drawn {
  if (!Number.isFinite(sum)) throw new CoaError("engine", brokenLogits(sum));
  const entropy = sequence.request.entropies ? { entropy: entropyOf(weights, sum) } : {};
  if (!isGreedy(sequence.request)) return { ...drawFromWeights(weights, sum, sequence.uniform()), ...entropy };
  // The largest weight is e^0.
  const token = weights.indexOf(1);
  return { token, logprob: -Math.log(sum), ...entropy };
}

/** Draws from raw logits under the request's mask and cuts. */
export function drawMasked(sequence: Sequence, logits: Float32Array): Drawn {
  const { request, mask, uniform } = sequence;
  return drawFromLogits(logits, {
    temperature: request.temperature ?? 1,
    topK: request.topK ?? 0,
    topP: request.topP ?? 1,
    allowed: mask.allowed,
    uniform,
    entropy: request.entropies,
  });
}

/** Appends a drawn token and says what that means: one event, or two when it was the last. */
export function acceptToken(sequence: Sequence, drawn: Drawn, maxContext: number): SamplerEvent[] {
  const { request, tokens } = sequence;
  const { id } = request;
  tokens.push(drawn.token);
  sequence.mask = { known: !request.masked, allowed: undefined };
  const sampled = tokens.length - request.tokens.length;
  const events: SamplerEvent[] = [{ type: "token", id, ...drawn }];
  const stopped = endsAtStop(tokens, sampled, request);
  if (stopped || sampled >= request.maxTokens || tokens.length > maxContext)
    events.push({
      type: "finished",
      id,
      finish: stopped ? "stop" : "length",
      computedTokens: sequence.contextComputed,
    });
  return events;
}

/** How many first tokens two sequences share; the last of `tokens` does not count, its logits must be computed. */
export function sharedPrefix(tokens: readonly number[], other: readonly number[]): number {
  const limit = Math.min(tokens.length - 1, other.length);
  let length = 0;
  while (length < limit && tokens[length] === other[length]) length++;
  return length;
}
