/** What a coordinator and its workers say to each other. Both sides check it: either may be of another release. */
import { z } from "zod";
import { CoaError } from "../../core/errors.ts";
import { taskSchema } from "../../core/task.ts";
import { workerIdentitySchema } from "./worker-identity.ts";

const policyAddressSchema = z.object({
  /** With the version: `http://trainer:8000/v1`. */
  baseURL: z.string(),
  model: z.string().optional(),
  apiKey: z.string().optional(),
});
/** Where a trainer's policy is served. */
export type PolicyAddress = z.infer<typeof policyAddressSchema>;

const rolloutChainSchema = z.object({
  temperature: z.number(),
  limits: z.record(z.string(), z.number()),
  /** The question is put without a system prompt. */
  bareQuestion: z.boolean(),
  enforcement: z.enum(["report", "repair"]).optional(),
});
/** What every rollout of a run has in common. */
export type RolloutChain = z.infer<typeof rolloutChainSchema>;

/** The same as options of `chainRollout`. */
export function chainOf({ bareQuestion, ...chain }: RolloutChain) {
  return { ...chain, ...(bareQuestion && { systemPrompt: false as const }) };
}

/** What a worker is told of the run before it takes leases. */
export const runSchema = z.object({
  identity: workerIdentitySchema,
  /** One of the tasks, for tools that depend on it. */
  task: taskSchema,
  chain: rolloutChainSchema,
  /** Of the policy that samples at the coordinator. */
  capabilities: z
    .object({ logprobs: z.enum(["sampled", "model"]), maxContext: z.number(), vocabularySize: z.number() })
    .optional(),
  /** Where to sample; at the coordinator itself where there is none. */
  sampler: z.object({ baseURL: z.string(), baseModel: z.string(), model: z.string().optional() }).optional(),
  /** A worker that sends nothing for so long counts as lost. */
  silenceMs: z.number(),
});
export type RunForWorkers = z.infer<typeof runSchema>;

/** What a worker is given: the task, and all that the chain depends on. */
export const leaseSchema = z.object({
  id: z.string(),
  task: taskSchema,
  seed: z.number(),
  step: z.number(),
  sample: z.number(),
  maxContext: z.number().optional(),
  /** What the run's sampler calls the weights to sample from. */
  servedAs: z.string().optional(),
  /** Where to sample this one. */
  policyAt: policyAddressSchema.optional(),
  /** What this one sets, beyond what the run says of all. */
  chain: z
    .object({
      id: z.string(),
      limits: z.record(z.string(), z.number()),
      sampling: z.object({
        temperature: z.number().optional(),
        topP: z.number().optional(),
        topK: z.number().optional(),
      }),
    })
    .optional(),
  /** Milliseconds that the worker has; what comes later may have been given to another. */
  deadlineMs: z.number(),
});
export type Lease = z.infer<typeof leaseSchema>;

export const leaseRequest = z.object({
  worker: z.string().min(1).max(200),
  count: z.number().int().min(1).max(4096),
  identity: workerIdentitySchema,
});
export const leaseAnswer = z.object({ leases: z.array(leaseSchema) });

/** A request to sample from the run's policy, and its answer. */
export const sampleRequest = z.object({
  worker: z.string(),
  lease: z.string(),
  request: z.object({
    tokens: z.array(z.number().int().min(0)),
    maxTokens: z.number().int().min(1),
    temperature: z.number().optional(),
    topP: z.number().optional(),
    topK: z.number().optional(),
    seed: z.number().optional(),
    stopTokens: z.array(z.number()).optional(),
    stopSequences: z.array(z.array(z.number())).optional(),
    stopStrings: z.array(z.string()).optional(),
    sessionKey: z.string().optional(),
  }),
});
export const sampleAnswer = z.object({
  tokens: z.array(z.number()),
  logprobs: z.array(z.number()),
  entropies: z.array(z.number()).optional(),
  finish: z.enum(["stop", "length"]),
  policyVersion: z.number(),
  computedTokens: z.number().optional(),
});

/** How a rollout ended, and whether it counted. */
export const resultRecord = z.object({
  worker: z.string(),
  lease: z.string(),
  trajectory: z.unknown().optional(),
  error: z.string().optional(),
});
export const resultAnswer = z.object({ counted: z.boolean() });

/** What the other side said, in this form. */
export function understood<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new CoaError("network", `the coordinator's answer has another form: ${z.prettifyError(parsed.error)}`);
}
