/**
 * An engine trains and samples token ids. The verbs are Tinker's, so that one training loop drives the embedded engine
 * or a cluster. Training calls are carried out in the order in which they are made, and a caller may make the next before the
 * last is answered: a loop sends all micro-batches and the optimizer step, then waits. Gradients accumulate until `optimStep`.
 * What samples is a policy: weights that were published, with a version. How token losses are added up belongs to the engine
 * (`reduction`), normalisation to the loop, which writes it into weights and advantages; the loss that is shown is computed
 * by the loop from log-probabilities (base/count/policy-loss.ts).
 */

/**
 * An example is what an engine consumes: token ids, the targets they should predict, and per-token weights. Everything is
 * pre-shifted: `targets[i]` is what comes after `input[i]`. Weight (or advantage) 0 is the mask: prompts and
 * observations carry 0 and therefore teach nothing.
 */
export interface Example {
  input: Int32Array; // [token]
  targets: Int32Array; // [token], full sequence shifted left by one
  weights?: Float32Array; // [token]
  /** Log-probability of each target under the policy that sampled it. */
  oldLogprobs?: Float32Array; // [token]
  /** Advantage of each target; 0 on tokens the model did not write. */
  advantages?: Float32Array; // [token]
}

/**
 * Loss functions: imitation, plain policy gradient, clipped (DAPO), and truncated importance weights. `clipLow` and
 * `clipHigh` are distances from 1: the ratio counts between 1 - clipLow and 1 + clipHigh.
 */
export type LossSpec = (
  | { name: "cross_entropy" }
  | { name: "importance_sampling" }
  /** `dualClip`: upper bound c on the loss of a negative advantage (`-A * c`); absent means none. */
  | { name: "ppo"; clipLow: number; clipHigh: number; dualClip?: number }
  | { name: "cispo"; clipLow: number; clipHigh: number }
) & {
  /** Log-probabilities are those at this temperature (default 1): the one the tokens were sampled with. */
  temperature?: number;
};

export interface EngineCapabilities {
  losses: {
    readonly [Name in LossSpec["name"]]?: {
      /**
       * How token losses become one number. `sum`: over all tokens since the last step. `sequence-mean`: mean over each example's
       * targets, then over examples. `weighted-sequence-mean`: each example's weighted mean, then the mean over examples; a common
       * factor on weights has no effect there.
       */
      reduction: "sum" | "sequence-mean" | "weighted-sequence-mean";
      /** Options beyond the clip range that have an effect. */
      options: readonly ("dualClip" | "temperature")[];
    };
  };
  /** Sampled log-probabilities are of the distribution sampled from, or of the plain model at temperature 1. */
  logprobs: "sampled" | "model";
  fullParameter: boolean;
  /** False: matrices can't be trained with Muon, and a learning rate of their own is refused. */
  muon?: boolean;
  gradientClipping: boolean;
  /** `optimStep` says the norm of the gradient. */
  gradientNorm: boolean;
  tokenMasks: boolean;
  /** Sampling and training may run at the same time. */
  overlap: boolean;
  maxContext: number;
  vocabularySize: number;
  /** The most that one training request may carry; absent: no limit. */
  requestLimits?: { examples: number; bytes: number };
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
  /**
   * All of these stops as text, where one of them is not a single id: for engines that can watch the text, because a string can be
   * written by other ids than those of its sequence.
   */
  stopStrings?: readonly string[];
  /** Which ids may come next, given those sampled so far in this request; undefined = all. */
  allowedTokens?: (sampled: readonly number[]) => readonly number[] | undefined;
  /** Keeps the context's cache under this key; a later request that extends it computes only what is new. */
  sessionKey?: string;
  /** Asks for the entropy of every distribution that is sampled from; an engine that can't tell leaves it out. */
  entropies?: boolean;
  onToken?: (token: number, logprob: number, entropy?: number) => void;
  signal?: AbortSignal;
}

export interface Sample {
  tokens: number[];
  /** Of exactly the distribution sampled from, unless the engine's `logprobs` says otherwise. */
  logprobs: number[];
  /** In nats, of the same distribution, where they were asked for. */
  entropies?: number[];
  finish: "stop" | "length";
  /** Version of the weights that the first token was sampled with. */
  policyVersion: number;
  /** Context tokens that had to be computed for this request (not found in a cache), where the engine says so. */
  computedTokens?: number;
}

/** What text can be sampled from: a published policy, or an engine that publishes by itself. */
export interface Sampler {
  readonly name: string;
  readonly capabilities: EngineCapabilities;
  /** What it samples is trained on as it was sampled, so a grammar, which would change the distribution, is refused. */
  readonly exact?: true;
  sample(request: SampleRequest): Promise<Sample>;
  endSession?(sessionKey: string): void;
}

/** Published weights. Unless it was published as pinned, the next publication may replace the weights under it. */
export interface Policy extends Sampler {
  /** Optimizer steps that the published weights have seen. */
  readonly version: number;
  /** What a router that the engine's server keeps up to date calls these weights. */
  readonly servedAs?: string;
  /** `n` continuations of one context; sample i uses `seed + i`. */
  sampleMany(request: SampleRequest, n: number): Promise<Sample[]>;
  /** Gives the memory of a pinned policy back. */
  close?(): Promise<void>;
}

export interface ForwardResult {
  /** Log-probability of each target, at the loss's temperature; 0 where `forwardBackward` left it out. */
  logprobs: Float32Array[]; // [example][token]
  metrics?: Record<string, number>;
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

export interface Engine {
  readonly name: string;
  readonly capabilities: EngineCapabilities;
  forward(examples: readonly Example[], loss: LossSpec): Promise<ForwardResult>;
  /**
   * Sums gradients. An engine may leave log-probabilities of targets of weight or advantage 0 out of the result, which saves work, unless
   * `everyLogprob` is set.
   */
  forwardBackward(
    examples: readonly Example[],
    loss: LossSpec,
    options?: { everyLogprob?: boolean },
  ): Promise<ForwardResult>;
  /** Applies the gradients summed since the last step; refused when a `forwardBackward` since then has failed. */
  optimStep(step: OptimizerStep): Promise<{ gradientNorm?: number }>;
  /** Gives the weights as they are now to the sampler; `pinned`: they stay as they are whatever is published later. */
  publish(options?: { pinned?: boolean }): Promise<Policy>;
  /**
   * Saves weights, optimizer and random state, all or nothing. An engine on this machine writes into `folder`; one elsewhere
   * keeps the state under `name` (by default the folder's own name). The result, a folder or an address that the engine's server
   * understands, is what `loadState` takes.
   */
  saveState(folder: string, name?: string): Promise<string>;
  loadState(state: string): Promise<void>;
  /** Deletes a saved state that the engine keeps elsewhere. */
  deleteState?(state: string): Promise<void>;
  /**
   * Writes the weights alone, in Hugging Face layout, as the numbers that the base model is stored in; `exact`: as all that training
   * knows, for weights that are averaged.
   */
  saveModel(folder: string, options?: { exact?: boolean }): Promise<void>;
  /** Writes the adapter alone, in PEFT layout, where the engine trains one. */
  saveAdapter?(folder: string): Promise<void>;
  /** Tokens computed since it was opened, by kind, and their cost; absent for free engines. */
  usage?(): Record<string, number>;
  close(): Promise<void>;
}

/** The losses of an engine that adds up token losses and knows every option. */
export const summedLosses: EngineCapabilities["losses"] = {
  cross_entropy: { reduction: "sum", options: ["temperature"] },
  importance_sampling: { reduction: "sum", options: ["temperature"] },
  ppo: { reduction: "sum", options: ["dualClip", "temperature"] },
  cispo: { reduction: "sum", options: ["temperature"] },
};

/** `sampleMany` of a policy that takes one request at a time. */
export function sampleManyWith(sample: Policy["sample"]): Policy["sampleMany"] {
  return (request, n) =>
    Promise.all(
      Array.from({ length: n }, (_, at) =>
        sample({ ...request, ...(request.seed === undefined ? {} : { seed: request.seed + at }) }),
      ),
    );
}

/** Whether the first `length` tokens, of which the last `sampled` were drawn, end with a stop. */
export function endsAtStop(
  tokens: readonly number[],
  sampled: number,
  { stopTokens, stopSequences }: Pick<SampleRequest, "stopTokens" | "stopSequences">,
  length = tokens.length,
): boolean {
  const endsWith = (stop: readonly number[]) => stop.every((token, at) => tokens[length - stop.length + at] === token);
  return (
    (sampled > 0 && stopTokens?.includes(tokens[length - 1]!)) ||
    (stopSequences?.some((stop) => stop.length > 0 && stop.length <= sampled && endsWith(stop)) ?? false)
  );
}
