/**
 * A sampler advances many sequences together. It runs inside the engine's worker and never blocks on anyone: requests
 * are submitted at any time, `step` computes one token (or one chunk of context) for every sequence that can move, and
 * what happened comes back as events. A request whose next token must be chosen among allowed ones waits for its mask
 * while the others continue.
 */
import type { SampleRequest } from "../../../core/engine.ts";
import type { Precision } from "./decoder-layout.ts";

/** A `SampleRequest` of core, without what can't cross a thread. */
export interface SamplerRequest extends Omit<SampleRequest, "stopStrings" | "allowedTokens" | "onToken" | "signal"> {
  id: number;
  /**
   * The caller answers `allow(id, ids)` before the first token and again after every `token` event of this request;
   * each token is drawn only once its answer is there.
   */
  masked?: boolean;
}

export type SamplerEvent =
  | { type: "token"; id: number; token: number; logprob: number; entropy?: number }
  /** The last event of a request. `computedTokens`: context tokens not found in the session's cache. */
  | { type: "finished"; id: number; finish: "stop" | "length"; computedTokens: number }
  /** The last event of a request that can't continue (not-a-number weights, an empty mask); others are unaffected. */
  | { type: "failed"; id: number; message: string };

/** What a sampler takes where nothing is said. */
export const samplerDefaults = { maxBatch: 256, cacheBytes: 2 ** 30 };

export interface SamplerOptions {
  /** Threads that compute, the calling one included; default 1. */
  threads?: number;
  /** Sequences that move together; more are queued. Default 256. */
  maxBatch?: number;
  /** Longest context; default the model's, or what fits into the sampler's memory. */
  maxContext?: number;
  /** Memory for caches of running and paused sequences; default 1 GiB. */
  cacheBytes?: number;
  /** How the weights are held; default "f32". In 8 bits tokens are drawn from a policy slightly apart from the trained one. */
  precision?: Precision;
  /** Lets ONNX Runtime multiply where many rows meet, reading context above all; for models of many millions of weights. */
  wide?: boolean;
}
