/**
 * The Tinker API's messages in JSON, as our client and our server read and write them; our client sends passes in protobuf. An
 * example is pre-shifted as ours are; arrays are named tensors. Clip bounds are absolute ratios there and distances from 1
 * here. Where the SDK speaks protobuf, tinker-protobuf.ts writes the same values in bytes.
 */
import { z } from "zod";
import { most } from "../../core/budget.ts";
import type { Example, LossSpec, OptimizerStep, Sample } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";

const tensorSchema = z.object({ data: z.array(z.number()), dtype: z.string(), shape: z.array(z.number()).optional() });
const modelInputSchema = z.object({
  chunks: z.array(z.object({ type: z.string().optional(), tokens: z.array(z.number().int()) })),
});
const datumSchema = z.object({
  model_input: modelInputSchema,
  loss_fn_inputs: z.record(z.string(), tensorSchema),
});

/** Examples and their loss, as `forward` and `forward_backward` carry them. */
export const passSchema = z.object({
  data: z.array(datumSchema),
  loss_fn: z.string(),
  loss_fn_config: z.record(z.string(), z.number()).nullish(),
});
export type WirePass = z.infer<typeof passSchema>;

/** The arrays of an example that go by other names on the wire. */
export const tensorNames = {
  targets: "target_tokens",
  weights: "weights",
  oldLogprobs: "logprobs",
  advantages: "advantages",
} as const;

/** Which arrays of an example a loss reads; others are not sent. */
export function arraysOf(loss: LossSpec): readonly (keyof typeof tensorNames)[] {
  return loss.name === "cross_entropy" ? ["targets", "weights"] : ["targets", "oldLogprobs", "advantages"];
}

export function fromPass({ data, loss_fn, loss_fn_config }: WirePass): { examples: Example[]; loss: LossSpec } {
  const examples = data.map(({ model_input, loss_fn_inputs }): Example => {
    const floats = (name: string) => {
      const tensor = loss_fn_inputs[name];
      return tensor && Float32Array.from(tensor.data);
    };
    const { target_tokens: targets } = loss_fn_inputs;
    if (!targets) throw new CoaError("format", "a datum has no target_tokens");
    return withArrays(
      Int32Array.from(model_input.chunks.flatMap(({ tokens }) => tokens)),
      Int32Array.from(targets.data),
      floats,
    );
  });
  return { examples, loss: fromLossConfig(loss_fn, loss_fn_config ?? {}) };
}

/** An example from its ids and whatever float arrays came with it. */
export function withArrays(
  input: Int32Array,
  targets: Int32Array,
  floats: (name: string) => Float32Array | undefined,
): Example {
  const [weights, oldLogprobs, advantages] = ["weights", "logprobs", "advantages"].map(floats);
  for (const [name, array] of Object.entries({ target_tokens: targets, weights, logprobs: oldLogprobs, advantages }))
    if (array && array.length !== input.length)
      throw new CoaError("format", `a datum has ${input.length} input tokens and ${array.length} ${name}`);
  return {
    input,
    targets,
    ...(weights && { weights }),
    ...(oldLogprobs && { oldLogprobs }),
    ...(advantages && { advantages }),
  };
}

export function onesFor(example: Example): Float32Array {
  return new Float32Array(example.targets.length).fill(1);
}

/** Clip thresholds, always sent: servers' defaults differ. `dual_clip` and `temperature` are our own server's extension. */
export function toLossConfig(loss: LossSpec): Record<string, number> {
  const config: Record<string, number> = {};
  if ("clipLow" in loss) {
    config["clip_low_threshold"] = 1 - loss.clipLow;
    config["clip_high_threshold"] = 1 + loss.clipHigh;
  }
  if ("dualClip" in loss && loss.dualClip !== undefined) config["dual_clip"] = loss.dualClip;
  if (loss.temperature !== undefined && loss.temperature !== 1) config["temperature"] = loss.temperature;
  return config;
}

/** The loss of a request; unknown losses and options are refused as the user's error. */
export function fromLossConfig(name: string, config: Readonly<Record<string, number>>): LossSpec {
  const clip = (low: number, high: number) => ({
    clipLow: 1 - (config["clip_low_threshold"] ?? low),
    clipHigh: (config["clip_high_threshold"] ?? high) - 1,
  });
  const allowed = {
    cross_entropy: ["temperature"],
    importance_sampling: ["temperature"],
    ppo: ["clip_low_threshold", "clip_high_threshold", "dual_clip", "temperature"],
    cispo: ["clip_low_threshold", "clip_high_threshold", "temperature"],
  }[name];
  if (!allowed)
    throw new CoaError("usage", `there is no loss_fn "${name}" here: cross_entropy, importance_sampling, ppo or cispo`);
  const unknown = Object.keys(config).filter((key) => !allowed.includes(key));
  if (unknown.length > 0)
    throw new CoaError("usage", `loss_fn_config of ${name} takes ${allowed.join(", ")}; not ${unknown.join(", ")}`);
  const tempered = config["temperature"] === undefined ? {} : { temperature: config["temperature"] };
  if (name === "ppo") {
    const dual = config["dual_clip"] === undefined ? {} : { dualClip: config["dual_clip"] };
    return { name, ...clip(0.8, 1.2), ...dual, ...tempered };
  }
  if (name === "cispo") return { name, ...clip(0, 4), ...tempered };
  return { name: name as "cross_entropy" | "importance_sampling", ...tempered };
}

/** Adam's numbers. Every one is sent: servers' defaults differ. */
export function toAdam(step: OptimizerStep): Record<string, number> {
  return {
    learning_rate: step.learningRate,
    beta1: step.beta1 ?? 0.9,
    beta2: step.beta2 ?? 0.95,
    eps: step.epsilon ?? 1e-8,
    weight_decay: step.weightDecay ?? 0,
    grad_clip_norm: step.gradientClip ?? 0,
  };
}

export const adamSchema = z.object({
  learning_rate: z.number().default(1e-4),
  beta1: z.number().default(0.9),
  beta2: z.number().default(0.95),
  eps: z.number().default(1e-12),
  weight_decay: z.number().default(0),
  grad_clip_norm: z.number().default(0),
});

/** The optimizer step that a request asks for. */
export function fromAdam(adam: z.infer<typeof adamSchema>): OptimizerStep {
  return {
    learningRate: adam.learning_rate,
    beta1: adam.beta1,
    beta2: adam.beta2,
    epsilon: adam.eps,
    weightDecay: adam.weight_decay,
    gradientClip: adam.grad_clip_norm,
  };
}

export const sampleRequestSchema = z.object({
  sampling_session_id: z.string().nullish(),
  base_model: z.string().nullish(),
  model_path: z.string().nullish(),
  seq_id: z.number().nullish(),
  num_samples: z.number().int().min(1).max(most.samples).default(1),
  prompt: modelInputSchema,
  sampling_params: z.object({
    max_tokens: z.number().int().min(1).nullish(),
    seed: z.number().int().nullish(),
    temperature: z.number().min(0).default(1),
    top_k: z.number().int().default(-1),
    top_p: z.number().gt(0).max(1).default(1),
    stop: z.union([z.array(z.number().int()).max(1000), z.array(z.string()).max(64), z.string()]).nullish(),
  }),
  prompt_logprobs: z.boolean().nullish(),
  topk_prompt_logprobs: z.number().nullish(),
});
export type WireSampleRequest = z.infer<typeof sampleRequestSchema>;

export const samplesSchema = z.object({
  sequences: z.array(
    z.object({
      stop_reason: z.enum(["stop", "length"]),
      tokens: z.array(z.number()),
      logprobs: z.array(z.number()),
    }),
  ),
  prompt_logprobs: z.array(z.number().nullable()).nullish(),
  /** Not computed by our server. */
  topk_prompt_logprobs: z.unknown().optional(),
  prompt_cache_hit_tokens: z.number().optional(),
});
export type WireSamples = z.infer<typeof samplesSchema>;

export function toSamples(
  samples: readonly Sample[],
  promptLength: number,
  promptLogprobs?: readonly number[],
): WireSamples {
  const computed = samples.map(({ computedTokens }) => computedTokens ?? promptLength);
  return {
    sequences: samples.map(({ tokens, logprobs, finish }) => ({ stop_reason: finish, tokens, logprobs })),
    prompt_logprobs: promptLogprobs ? [null, ...promptLogprobs] : null,
    topk_prompt_logprobs: null,
    prompt_cache_hit_tokens: Math.max(0, promptLength - Math.max(...computed)),
  };
}

/** Log-probabilities of each target of each datum, as a pass returns them. */
export function toPassResult(logprobs: readonly Float32Array[], losses: readonly Float32Array[]) {
  const tensor = (values: Float32Array) => ({ data: [...values], dtype: "float32", shape: [values.length] });
  let total = 0;
  for (const row of losses) for (const value of row) total += value;
  return {
    loss_fn_output_type: "scalar",
    loss_fn_outputs: logprobs.map((row, at) => ({ elementwise_loss: tensor(losses[at]!), logprobs: tensor(row) })),
    metrics: { "loss:sum": total },
  };
}
