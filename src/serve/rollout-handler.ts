/**
 * Rollouts over HTTP: our runtime is the agent, the trainer keeps its model. A trainer sends tasks and the base URL of its
 * policy (`/v1/completions`, token ids in and out); ids, mask, log-probabilities and reward come back exactly as sampled.
 * The rollouts wait on the board that workers take from: some are run here, the others by every worker that joins.
 */

import { randomInt, randomUUID } from "node:crypto";
import { z } from "zod";
import { streamReply } from "../base/http/event-stream.ts";
import { parse, Refusal } from "../base/http/refusal.ts";
import { inOrder } from "../base/work/in-order.ts";
import { inParallel } from "../base/work/limiter.ts";
import { derivedSeed } from "../base/work/random.ts";
import type { ChainOptions } from "../chain/chain-options.ts";
import { type Ending, throwIfUserMustFix } from "../core/ending.ts";
import { CoaError } from "../core/errors.ts";
import type { Reward, RewardResult } from "../core/grader.ts";
import { defined, type Json } from "../core/json-value.ts";
import type { Model } from "../core/model.ts";
import { printable } from "../core/printable.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import type { Tool } from "../core/tool.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type SampledSequence, sampledSequences } from "../dataset/trajectory-to-example.ts";
import { chainRollout } from "../train/chain-rollout.ts";
import { judged } from "../train/run-rollout.ts";
import { coordinatorRoutes } from "../train/workers/coordinator-handler.ts";
import { type BoardRun, leaseBoard } from "../train/workers/lease-board.ts";
import type { Lease, PolicyAddress, RunForWorkers } from "../train/workers/worker-protocol.ts";
import type { Endpoint } from "./keys.ts";
import { countChain, metrics } from "./metrics.ts";
import { readTask } from "./read-task.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";

export interface RolloutHandlerOptions extends ServeOptions {
  /** The model behind an address of a trainer. It must work on token ids. */
  policyAt: (address: PolicyAddress) => Promise<Model> | Model;
  profile: Profile;
  toolsOf: (task: Task) => readonly Tool[];
  /** What a finished chain earned; without it every reward is null. */
  reward?: Reward;
  /** What chains are run with; what a request sets takes precedence. */
  defaults?: Pick<ChainOptions, "systemPrompt" | "limits" | "enforcement">;
  /** Chains at a time in this process, over all requests; 64 by default. */
  maxChains?: number;
  /** Chains that may wait; 4,096 by default. More are refused with 429. */
  maxQueue?: number;
  /** What workers elsewhere are told, where they may take rollouts too. */
  workers?: Omit<RunForWorkers, "silenceMs">;
  /** Called with what a policy's server said when it failed; to stderr by default. A caller is told only how it failed. */
  onPolicyError?: (words: string) => void;
  /** Called for every rollout. */
  onTrajectory?: (trajectory: Trajectory) => void;
}

/** A worker that is silent for so long is lost, and a rollout that takes so long is given to another. */
const silenceMs = 30_000;
const deadlineMs = 3_600_000;
const here = "this server";

export function rolloutHandler(options: RolloutHandlerOptions): ServedHandler {
  const { policyAt, toolsOf, profile, maxChains = 64, maxQueue = 4096, reward } = options;
  const counted = metrics();
  const board = leaseBoard({ deadlineMs, silenceMs });
  const batches = new Map<string, { caller: string; open: number }>();
  let running = 0;

  /** Takes what waits, as far as there is room here. */
  const next = inOrder();
  const work = () =>
    next(async () => {
      for (const lease of (await board.lease(here, maxChains - running, 0)) ?? []) {
        running++;
        void runHere(lease).finally(() => {
          running--;
          void work();
        });
      }
    });

  async function runHere(lease: Lease): Promise<void> {
    const signal = board.signalOf(lease.id);
    if (!signal) return;
    try {
      const model = await policyAt(lease.policyAt!);
      const rollout = chainRollout({ ...options.defaults, profile, model, tools: (task) => toolsOf(task) });
      const trajectory = await rollout(lease.task, { ...lease, signal });
      throwIfUserMustFix(trajectory.ending);
      board.complete(lease.id, trajectory);
    } catch (error) {
      board.fail(lease.id, error);
    }
  }

  async function answerOf(
    job: RolloutJob,
    run: Pick<BoardRun, "policyAt" | "owner">,
    tokenizer: Tokenizer,
    signal: AbortSignal,
  ) {
    const { id, task, sample, seed, sampling, limits } = job;
    const chain = { id, sampling, limits };
    const played = board.play(task, { ...run, seed, step: 0, sample, chain, signal });
    void work();
    const { ending, ...rest } = await played;
    const trajectory = { ...rest, ending: told(ending, options.onPolicyError) };
    countChain(counted, trajectory);
    const verdict = reward ? await judged(reward, trajectory, task, signal) : unjudged;
    options.onTrajectory?.({ ...trajectory, ...(verdict.reward !== null && { reward: verdict.reward }) });
    return rolloutAnswer(job, trajectory, sampledSequences(trajectory, tokenizer), verdict);
  }

  const endpoints: Record<string, Endpoint> = {
    async "POST /rollouts"(call) {
      const { request, caller, id: requestId } = call;
      // One caller may fill the board; each further one has an equal part of it.
      const others = new Set(batches.values().map((batch) => batch.caller)).add(caller.name).size;
      const own = batches.values().filter((batch) => batch.caller === caller.name).reduce((sum, { open }) => sum + open, 0); // biome-ignore format: one sum
      const room = (maxQueue + maxChains) / others - own;
      const { id = requestId, policy, jobs, stream } = readRollouts(await call.json(), room);
      if (batches.has(id)) throw new Refusal(409, `a batch ${id} is running`, { code: "batch_running", param: "id" });
      const { tokenizer } = await policyAt(policy);
      if (!tokenizer) throw new Refusal(400, "rollouts need a policy that works on token ids");
      // One failure that only the user can fix ends the whole batch: every other rollout would have it too.
      const failed = new AbortController();
      const signal = AbortSignal.any([request.signal, failed.signal]);
      const batch = { caller: caller.name, open: jobs.length };
      batches.set(id, batch);
      const one = async (job: RolloutJob): Promise<Json> => {
        try {
          return await answerOf(job, { policyAt: policy, owner: caller.name }, tokenizer, signal);
        } catch (error) {
          failed.abort(error instanceof CoaError ? policyFailure(error, options.onPolicyError) : error);
          throw failed.signal.reason;
        } finally {
          batch.open--;
        }
      };
      // Signals that this server is alive, and finds what lost workers held.
      const beat = setInterval(() => void work(), silenceMs / 4);
      try {
        if (!stream) return { id, rollouts: await inParallel(jobs, jobs.length, one) };
        await streamReply(call, {}, async (events) => {
          await inParallel(jobs, jobs.length, async (job) => events.write(JSON.stringify(await one(job))));
          await events.write("[DONE]");
        });
      } finally {
        clearInterval(beat);
        batches.delete(id);
      }
    },
    ...(options.workers && coordinatorRoutes({ board, run: { ...options.workers, silenceMs } })),
  };
  const served = servedHandler(endpoints, options, { counted, load: board });
  return {
    ...served,
    stopAccepting() {
      served.stopAccepting();
      if (board.running + board.waiting === 0) board.close(); // so that no worker waits for more
    },
    settle: async () => board.close(),
  };
}

const toStderr = (words: string) => console.error(printable(words));

/**
 * How a policy failed, without its server's words: the caller names the address, which may be one that only this machine
 * reaches, and what is said there is not theirs to read.
 */
function wordless(detail: string, log = toStderr): string {
  log(`a policy failed: ${detail}`);
  const status = /\bHTTP (\d{3})\b/.exec(detail)?.[1];
  if (status) return `the policy's server answered HTTP ${status}`;
  const silent = /is the server running|ENOTFOUND|no answer within|other side closed|socket|timeout/i.test(detail);
  return silent
    ? "the policy's server can't be reached"
    : "the policy's server does not answer as one of a policy does";
}

function policyFailure(error: CoaError, log?: (words: string) => void): CoaError {
  const { boundary, code } = error;
  if (boundary !== "model" && boundary !== "network") return error;
  return new CoaError(boundary, `stopped at the first failure: ${wordless(error.message, log)}`, { code });
}

function told(ending: Ending, log?: (words: string) => void): Ending {
  return ending.reason === "error" ? { ...ending, detail: wordless(ending.detail ?? "", log) } : ending;
}

const unjudged: RewardResult = {
  reward: null,
  correct: null,
  score: 0,
  reason: "this server has no reward",
  excluded: "unjudged",
};

/** One rollout on the wire. A chain whose context was shortened has the sequences before that in `earlier`. */
function rolloutAnswer(
  job: RolloutJob,
  trajectory: Trajectory,
  sequences: readonly SampledSequence[],
  { reward, correct, reason, excluded }: RewardResult,
): Json {
  const { usage, ending } = trajectory;
  const { id, item, sample, task, seed } = job;
  return {
    id,
    item,
    sample,
    task_id: task.id,
    seed,
    ...sequenceOnWire(sequences.at(-1)!),
    ...(sequences.length > 1 && { earlier: sequences.slice(0, -1).map(sequenceOnWire) }),
    reward,
    correct,
    reason,
    ...(excluded !== undefined && { excluded }),
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

interface RolloutJob extends Pick<Lease, "seed" | "sample">, NonNullable<Lease["chain"]> {
  item: number;
  task: Task;
  withTrajectory: boolean;
}

const whole = z.number().int();
const seed = whole.nullish();
const samplingSchema = z.object({
  temperature: z.number().min(0).max(100).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().nullish(),
  n: whole.min(1).max(4096).nullish(),
  seed,
  max_tokens: whole.min(1).nullish(),
  max_steps: whole.min(1).nullish(),
  max_tool_calls: whole.min(0).nullish(),
  max_seconds: z.number().min(0).max(1e9).nullish(),
});
const itemSchema = z.looseObject({
  task_id: z.coerce.string().nullish(),
  sampling: samplingSchema.nullish(),
  n: samplingSchema.shape.n,
  seed,
  trajectory: z.boolean().nullish(),
});
const requestSchema = itemSchema.extend({
  id: z.string().nullish(),
  model: z.string().nullish(),
  api_key: z.string().nullish(),
  items: z.array(itemSchema).min(1),
  stream: z.boolean().nullish(),
});

/** Reads the body; what an item sets takes precedence over what the request sets for all. More than `room` rollouts are refused. */
export function readRollouts(given: Json, room: number) {
  const baseURL = given["baseURL"] ?? given["base_url"];
  if (!/^https?:$/.test(URL.parse(String(baseURL))?.protocol ?? ""))
    throw new Refusal(400, "baseURL must be the address of the policy, such as http://trainer:8000/v1", {
      param: "baseURL",
    });
  const body = parse(requestSchema, given);
  const { id, model, api_key: apiKey } = body;
  const items = body.items.map((item) => ({ ...body, ...item, sampling: { ...body.sampling, ...item.sampling } }));
  // Counted before one is made: a small request can name millions.
  const count = items.reduce((sum, item) => sum + countOf(item), 0);
  if (count > room)
    throw new Refusal(429, `${count} more rollouts do not fit the queue`, {
      code: "queue_full",
      headers: { "retry-after": "5" },
    });
  return {
    id: id || undefined,
    policy: { baseURL: String(baseURL), ...(model && { model }), ...(apiKey && { apiKey }) },
    stream: body.stream === true,
    jobs: items.flatMap(jobsOf),
  };
}

function countOf({ n, sampling }: z.infer<typeof itemSchema>): number {
  return n ?? sampling?.n ?? 1;
}

function jobsOf(item: z.infer<typeof itemSchema>, index: number): RolloutJob[] {
  const task = readTask(item, { id: item.task_id ?? `item-${index}`, graded: false });
  const { temperature, top_p, top_k, seed: shared, ...most } = item.sampling!;
  const count = countOf(item);
  const base = item.seed ?? shared ?? undefined;
  const sampling = defined({
    temperature: temperature ?? 1,
    topP: top_p ?? undefined,
    topK: top_k && top_k > 0 ? top_k : undefined,
  });
  const limits = defined({
    maxCompletionTokens: most.max_tokens ?? undefined,
    maxSteps: most.max_steps ?? undefined,
    maxToolCalls: most.max_tool_calls ?? undefined,
    maxWallMs: most.max_seconds == null ? undefined : most.max_seconds * 1000,
  }) as Record<string, number>;
  return Array.from({ length: count }, (_, sample) => ({
    id: `rollout_${randomUUID().replaceAll("-", "")}`,
    item: index,
    sample,
    task,
    seed: base === undefined ? randomInt(2 ** 31) : count === 1 ? base : derivedSeed(base, "sample", sample),
    sampling,
    limits,
    withTrajectory: item.trajectory === true,
  }));
}
