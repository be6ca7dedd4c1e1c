/**
 * Rollouts over HTTP: our runtime is the agent, the trainer keeps its model. A trainer sends tasks and the base URL of its
 * policy (`/v1/completions`, token ids in and out); chains run here with real tools, and ids, mask, log-probabilities and
 * reward come back exactly as sampled. Nothing is tokenised twice.
 */

import { streamReply } from "../base/http/event-stream.ts";
import { RefusedRequest } from "../base/http/refusal.ts";
import { inParallel, semaphore } from "../base/work/limiter.ts";
import type { ChainOptions } from "../chain/chain-options.ts";
import { runChain } from "../chain/run-chain.ts";
import { throwIfUserMustFix } from "../core/ending.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { Reward, RewardResult } from "../core/grader.ts";
import { asString, type Json } from "../core/json-value.ts";
import type { Model } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type SampledSequence, sampledSequences } from "../dataset/trajectory-to-example.ts";
import type { Endpoint } from "./endpoint.ts";
import { countChain, metrics } from "./metrics.ts";
import { type PolicyAddress, type RolloutJob, readRollouts } from "./rollout-request.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";

export interface RolloutHandlerOptions extends ServeOptions {
  /** The model behind an address of a trainer. It must work on token ids. */
  policyAt: (address: PolicyAddress) => Promise<Model> | Model;
  profile: Profile;
  /** The tools of a task. */
  toolsOf: (task: Task) => readonly Tool[];
  /** What a finished chain earned; without it every reward is null. */
  reward?: Reward;
  /** What chains are run with; what a request sets takes precedence. */
  defaults?: Pick<ChainOptions, "systemPrompt" | "limits" | "enforcement" | "sampling">;
  /** Chains at a time over all requests; 64 by default. */
  maxChains?: number;
  /** Chains that may wait; 4,096 by default. More are refused with 429. */
  maxQueue?: number;
  /** Called for every rollout. */
  onTrajectory?: (trajectory: Trajectory) => void;
}

/** Serves rollouts. */
export function rolloutHandler(options: RolloutHandlerOptions): ServedHandler {
  const counted = metrics();
  const places = semaphore(options.maxChains ?? 64);
  const batches = new Map<string, { caller: string; stop: AbortController }>();

  async function rollout(job: RolloutJob, model: Model, signal: AbortSignal): Promise<Json> {
    const release = await places.acquire(signal);
    try {
      const trajectory = await runChain(job.task, {
        ...options.defaults,
        id: job.id,
        model,
        profile: options.profile,
        tools: [...options.toolsOf(job.task)],
        limits: { ...options.defaults?.limits, ...job.limits },
        sampling: { ...options.defaults?.sampling, ...job.sampling },
        signal,
      });
      throwIfUserMustFix(trajectory.ending);
      countChain(counted, trajectory);
      const verdict = signal.aborted ? stopped : await judge(options.reward, trajectory, job.task, signal);
      options.onTrajectory?.({ ...trajectory, ...(verdict.reward !== null && { reward: verdict.reward }) });
      return rolloutAnswer(job, trajectory, sampledSequences(trajectory, model.tokenizer!), verdict);
    } finally {
      release();
    }
  }

  const endpoints: Record<string, Endpoint> = {
    async "POST /rollouts"(call) {
      const { request, caller, id: requestId } = call;
      const { id = requestId, policy, jobs, stream } = readRollouts(await call.json());
      if (places.waiting + jobs.length > (options.maxQueue ?? 4096) + (options.maxChains ?? 64))
        throw new RefusedRequest(429, `${jobs.length} more rollouts do not fit the queue`, {
          code: "queue_full",
          headers: { "retry-after": "5" },
        });
      if (batches.has(id))
        throw new RefusedRequest(409, `a batch ${id} is running`, { code: "batch_running", param: "id" });
      const model = await options.policyAt(policy);
      if (!model.tokenizer) throw new RefusedRequest(400, "rollouts need a policy that works on token ids");
      const stop = new AbortController();
      const signal = AbortSignal.any([request.signal, stop.signal]);
      batches.set(id, { caller: caller.name, stop });
      // One failure that only the user can fix ends the whole batch: every other rollout would have it too.
      const failed = new AbortController();
      const one = async (job: RolloutJob): Promise<Json> => {
        try {
          return await rollout(job, model, AbortSignal.any([signal, failed.signal]));
        } catch (error) {
          if (stop.signal.aborted && isAbort(error)) return cancelledAnswer(job);
          failed.abort(error);
          throw failed.signal.reason;
        }
      };
      try {
        if (!stream) return { id, rollouts: await inParallel(jobs, jobs.length, one) };
        await streamReply(call, {}, async (events) => {
          await inParallel(jobs, jobs.length, async (job) => events.write(JSON.stringify(await one(job))));
          await events.write("[DONE]");
        });
      } finally {
        batches.delete(id);
      }
    },
    "POST /rollouts/{id}/cancel"({ request, caller }) {
      const id = request.params["id"]!;
      const batch = batches.get(id);
      if (batch?.caller !== caller.name) throw new RefusedRequest(404, `no batch ${id} is running`);
      batch.stop.abort(new DOMException("cancelled", "AbortError"));
      return { id, cancelled: true };
    },
  };
  const load = {
    get running() {
      return places.held;
    },
    get waiting() {
      return places.waiting;
    },
  };
  return servedHandler(endpoints, options, { counted, load });
}

const stopped: RewardResult = { reward: null, correct: null, score: 0, reason: "cancelled", excluded: "cancelled" };

async function judge(
  reward: Reward | undefined,
  trajectory: Trajectory,
  task: Task,
  signal: AbortSignal,
): Promise<RewardResult> {
  if (!reward) return { ...stopped, reason: "this server has no reward", excluded: "unjudged" };
  try {
    return await reward(trajectory, task, signal);
  } catch (error) {
    if (isAbort(error)) return stopped;
    return { ...stopped, reason: `the reward failed: ${messageOf(error)}`, excluded: "unjudged" };
  }
}

/** One rollout on the wire. A chain whose context was shortened has the sequences before that in `earlier`. */
function rolloutAnswer(
  job: RolloutJob,
  trajectory: Trajectory,
  sequences: readonly SampledSequence[],
  verdict: RewardResult,
): Json {
  const { usage, ending } = trajectory;
  return {
    ...place(job),
    ...sequenceOnWire(sequences.at(-1)!),
    ...(sequences.length > 1 && { earlier: sequences.slice(0, -1).map(sequenceOnWire) }),
    reward: verdict.reward,
    correct: verdict.correct,
    reason: verdict.reason,
    ...(verdict.excluded !== undefined && { excluded: verdict.excluded }),
    answer: trajectory.answer,
    ending,
    turns: usage.modelCalls,
    extra: {
      tool_calls: usage.toolCalls,
      completion_tokens: usage.completionTokens,
      violations: trajectory.violations.length,
      seconds: usage.wallMs / 1000,
      ...(trajectory.policyVersion !== undefined && { policy_version: trajectory.policyVersion }),
    },
    ...(job.withTrajectory && { trajectory }),
  };
}

function sequenceOnWire({ tokens, promptLength, mask, logprobs }: SampledSequence): Json {
  return {
    prompt_ids: tokens.slice(0, promptLength),
    response_ids: tokens.slice(promptLength),
    response_mask: mask.slice(promptLength),
    response_logprobs: logprobs.slice(promptLength),
  };
}

function cancelledAnswer(job: RolloutJob): Json {
  const empty = { prompt_ids: [], response_ids: [], response_mask: [], response_logprobs: [] };
  const { reward, correct, reason, excluded } = stopped;
  const verdict = {
    reward,
    correct,
    reason,
    excluded,
    answer: null,
    ending: { reason: "aborted" },
    turns: 0,
    extra: {},
  };
  return { ...place(job), ...empty, ...verdict };
}

function place({ id, item, sample, task, sampling }: RolloutJob): Json {
  return { id, item, sample, task_id: asString(task.id), seed: sampling.seed ?? null };
}
