/** What a coordinator and its workers say to each other. Both sides check it: either may be of another release. */
import { z } from "zod";
import { packageVersion } from "../../base/files/package-version.ts";
import { CoaError } from "../../core/errors.ts";
import { fingerprint, tokenizerDifference, tokenizerFingerprint } from "../../core/fingerprint.ts";
import type { Profile } from "../../core/profile.ts";
import { taskSchema } from "../../core/task-schema.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Tool } from "../../core/tool.ts";
import { describeTools } from "../../language/with-tools.ts";

const workerIdentitySchema = z.object({
  version: z.string(),
  profile: z.object({ name: z.string(), fingerprint: z.string() }),
  /** Fingerprint of what the model is told of each tool, by name. */
  tools: z.record(z.string(), z.string()),
  tokenizer: z.object({ size: z.number(), fingerprint: z.string() }),
});
/** What a worker and a run must have in common: chains of any other worker would be other chains than those the run describes. */
export type WorkerIdentity = z.infer<typeof workerIdentitySchema>;

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

/** The identity of this process, with what it runs chains with. */
export function workerIdentity(parts: {
  profile: Profile;
  tools: readonly Tool[];
  tokenizer: Tokenizer;
}): WorkerIdentity {
  const { profile, tools, tokenizer } = parts;
  return {
    version: packageVersion(),
    profile: { name: profile.name, fingerprint: fingerprint(JSON.stringify(profile)) },
    tools: Object.fromEntries(describeTools(tools).map((tool) => [tool.name, fingerprint(JSON.stringify(tool))])),
    tokenizer: tokenizerFingerprint(tokenizer),
  };
}

/** What differs between a worker and the run, in words; nothing where they agree. */
export function differences(worker: WorkerIdentity, run: WorkerIdentity): string[] {
  const found: string[] = [];
  if (worker.version !== run.version)
    found.push(`its package is version ${worker.version}, the run has ${run.version}`);
  if (worker.profile.name !== run.profile.name)
    found.push(`its profile is ${worker.profile.name}, the run has ${run.profile.name}`);
  else if (worker.profile.fingerprint !== run.profile.fingerprint)
    found.push(`its profile ${run.profile.name} has other tags or rules than the run's`);
  for (const name of Object.keys(run.tools)) {
    if (worker.tools[name] === undefined) found.push(`it lacks the tool ${name}`);
    else if (worker.tools[name] !== run.tools[name])
      found.push(`its tool ${name} has another description or other inputs than the run's`);
  }
  for (const name of Object.keys(worker.tools))
    if (run.tools[name] === undefined) found.push(`it has the tool ${name}, which the run has not`);
  const tokenizers = tokenizerDifference(worker.tokenizer, run.tokenizer, { own: "its", other: "the run's" });
  if (tokenizers) found.push(tokenizers);
  return found;
}
