/**
 * An engine trains and samples token ids. The verbs are Tinker's, so that one training loop drives the embedded engine
 * or a cluster. Losses are summed over tokens where `reduction` is `sum`; normalisation belongs to the loop, which writes
 * it into weights and advantages. Gradients accumulate until `optimStep`.
 */
import type { Example } from "./example.ts";

/**
 * Loss functions: imitation, plain policy gradient, clipped (DAPO), and truncated importance weights. `clipLow` and
 * `clipHigh` are distances from 1: the ratio counts between 1 - clipLow and 1 + clipHigh.
 */
export type LossSpec =
  | { name: "cross_entropy" }
  | { name: "importance_sampling" }
  /** `dualClip`: upper bound c on the loss of a negative advantage (`-A * c`); absent means none. */
  | { name: "ppo"; clipLow: number; clipHigh: number; dualClip?: number }
  | { name: "cispo"; clipLow: number; clipHigh: number };

export interface EngineCapabilities {
  losses: readonly LossSpec["name"][];
  reduction: "sum" | "sequence-mean";
  fullParameter: boolean;
  gradientClipping: boolean;
  tokenMasks: boolean;
  /** Sampling and training may run at the same time. */
  overlap: boolean;
  maxContext: number;
  vocabularySize: number;
}

export interface SampleRequest {
  /** The whole context: prompt and everything so far. */
  tokens: readonly number[];
  maxTokens: number;
  temperature?: number; // 0 = greedy; default 1
  topP?: number;
  topK?: number;
  seed?: number;
  /** Generation ends after any of these ids (it is included). */
  stopTokens?: readonly number[];
  /** Generation ends after any of these id sequences (included). */
  stopSequences?: readonly (readonly number[])[];
  /** Which ids may come next, given those sampled so far in this request; undefined = all. */
  allowedTokens?: (sampled: readonly number[]) => readonly number[] | undefined;
  /** Keeps the context's cache under this key; a later request that extends it computes only what is new. */
  sessionKey?: string;
  onToken?: (token: number, logprob: number) => void;
  signal?: AbortSignal;
}

export interface Sample {
  tokens: number[];
  /** Of exactly the distribution sampled from (temperature, top-p, top-k and masks applied). */
  logprobs: number[];
  finish: "stop" | "length";
  /** Context tokens that had to be computed for this request (not found in the session's cache). */
  computedTokens: number;
}

export interface ForwardResult {
  /** Log-probability of each target. */
  logprobs: Float32Array[]; // [example][token]
  /** Sum of the loss over all tokens of all examples. */
  loss: number;
  metrics: Record<string, number>;
}

export interface OptimizerStep {
  learningRate: number;
  /** Learning rate of matrices when the engine uses Muon for them; ignored otherwise. */
  matrixLearningRate?: number;
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
  /** Global norm; 0 or absent = no clipping. */
  gradientClip?: number;
}

/** Trains and samples one policy. */
export interface Engine {
  readonly name: string;
  readonly capabilities: EngineCapabilities;
  sample(request: SampleRequest): Promise<Sample>;
  /** Forgets a session's cache. */
  endSession?(sessionKey: string): void;
  forward(examples: readonly Example[], loss: LossSpec): Promise<ForwardResult>;
  forwardBackward(examples: readonly Example[], loss: LossSpec): Promise<ForwardResult>;
  optimStep(step: OptimizerStep): Promise<{ gradientNorm: number }>;
  /** Writes weights, optimizer and random state, all or nothing. */
  saveState(folder: string): Promise<void>;
  loadState(folder: string): Promise<void>;
  /** Writes the weights alone, in Hugging Face layout. */
  saveModel(folder: string): Promise<void>;
  close(): Promise<void>;
}
