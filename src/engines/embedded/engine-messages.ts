/**
 * What the engine's two threads say to each other. The caller's thread sends calls and sampling requests; the worker
 * answers calls in order and reports sampling events as they happen. Callbacks and signals never cross: they stay with
 * the caller, who turns them into `allow` and `cancel`.
 */
import type { PlainError } from "../../base/work/thread.ts";
import type { Example, ForwardResult, LossSpec, OptimizerStep } from "../../core/engine.ts";
import type { ModelConfig } from "./model/config.ts";
import type { SamplerEvent, SamplerRequest } from "./sample/sampler.ts";
import type { SharedBase } from "./shared-base.ts";

/** The weights are those of a model folder, or new ones, drawn by a config and a seed. */
export type EmbeddedEngineOptions = EngineSettings &
  ({ folder: string } | { config: ModelConfig; seed?: number; copyInit?: boolean; embeddingDeviation?: number });

/** An engine over weights that several engines share. */
export type SharedEngineOptions = EngineSettings & { base: SharedBase };

interface EngineSettings {
  /** Threads of training and of sampling; all cores by default. */
  threads?: number;
  optimizer?: "adamw" | "muon";
  /** Trains a low-rank adapter, a new one or one from a PEFT folder, and leaves the model's own weights alone. */
  lora?: { rank: number; alpha?: number; targets?: readonly string[]; seed?: number } | { folder: string };
  /**
   * Trains the embedding and the head too. By default only where the model is new or small: what a large pre-trained model knows of
   * its words is not changed, which takes less memory and time.
   */
  trainEmbeddings?: boolean;
  /** Tokens computed at once in training. */
  maxBatchTokens?: number;
  maxBatch?: number;
  /** Memory for the caches of running and paused sequences. */
  cacheBytes?: number;
  /**
   * How the sampler holds the weights; default "f32", exactly as they are trained. "8bit" samples faster and in a third of the memory,
   * from weights rounded to 8 bits: such an engine can't be trained.
   */
  precision?: "f32" | "8bit";
}

/** Calls, answered in order. */
export interface EngineCalls {
  /** Answered when the weights are loaded. */
  describe(): ModelConfig;
  forward(pass: { examples: readonly Example[]; loss: LossSpec }): Promise<ForwardResult>;
  forwardBackward(pass: {
    examples: readonly Example[];
    loss: LossSpec;
    options?: { everyLogprob?: boolean };
  }): Promise<ForwardResult>;
  optimStep(step: OptimizerStep): Promise<{ gradientNorm: number }>;
  publish(how: { pinned: boolean }): { version: number; policy: number; maxContext: number };
  closePolicy(policy: number): void;
  saveState(folder: string): Promise<void>;
  loadState(folder: string): Promise<void>;
  saveModel(request: { folder: string; exact: boolean }): Promise<void>;
  saveAdapter(folder: string): Promise<void>;
  close(): Promise<void>;
}

export type ToWorker =
  /** From a published policy (0 is the one that each publication renews); without one, from the weights as they are now. */
  | { type: "sample"; request: SamplerRequest; policy?: number }
  /** Masks for the next token of requests; `masks` are the ones the worker has not seen, `forget` drops all it has. */
  | {
      type: "allow";
      answers: readonly { id: number; mask: number | undefined }[];
      masks: readonly { mask: number; tokens: readonly number[] }[];
      forget: boolean;
    }
  | { type: "cancel"; id: number }
  | { type: "endSession"; sessionKey: string };

/** What the worker reports of its samples. */
export type FromWorker =
  | { type: "events"; events: SamplerEvent[]; policyVersion: number }
  | { type: "refused"; id: number; error: PlainError };
