/**
 * A worker: takes leases from a coordinator, runs each as a chain, and sends the trajectory back. It has no state: one
 * that is killed is replaced by starting another, and its leases are offered to other workers. It ends when the
 * coordinator has gone.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { z } from "zod";
import { HttpError, httpClient } from "../../base/http/http-client.ts";
import { sleep } from "../../base/work/limiter.ts";
import { retryDelay } from "../../base/work/retry.ts";
import { throwIfUserMustFix } from "../../core/ending.ts";
import { type Policy, sampleManyWith } from "../../core/engine.ts";
import { CoaError, isAbort, messageOf, UsageError } from "../../core/errors.ts";
import { parseJson } from "../../core/json-value.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import {
  type Lease,
  leaseAnswer,
  type RunForWorkers,
  resultAnswer,
  runSchema,
  sampleAnswer,
  understood,
  type WorkerIdentity,
} from "./worker-protocol.ts";

export interface WorkerOptions {
  /** Address of the coordinator, such as `http://10.0.0.5:8700`. */
  coordinator: string;
  apiKey?: string;
  /** Who this worker is, in messages of the coordinator. */
  name?: string;
  /** Who this worker is beside the run that it found. */
  identity: (run: RunForWorkers) => WorkerIdentity;
  /** Runs one rollout. The policy samples at the coordinator. */
  play: (lease: Lease, how: { policy: Policy; run: RunForWorkers; signal: AbortSignal }) => Promise<Trajectory>;
  /** Chains at the same time. Default 64. */
  concurrency?: number;
  /** Max wait for a coordinator that can't be reached. Default one minute. */
  patienceMs?: number;
  signal?: AbortSignal;
  onResult?: (result: { lease: string; counted: boolean }) => void;
}

export interface WorkerResult {
  /** Rollouts that counted, and those that came too late. */
  counted: number;
  late: number;
}

/**
 * Works until the coordinator ends or the signal aborts; refused, with the difference, where it does not fit the run.
 */
export async function runWorker(options: WorkerOptions): Promise<WorkerResult> {
  const { concurrency = 64, patienceMs = 60_000 } = options;
  const worker = options.name ?? `${hostname()}-${randomUUID().slice(0, 8)}`;
  const base = options.coordinator.replace(/\/+$/, "");
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const http = httpClient({
    headers: options.apiKey ? { "x-api-key": options.apiKey } : {},
    boundary: "network",
    maxBytes: 2 ** 28,
    connections: concurrency + 8,
    stallMs: 3_600_000, // a sample may take long; the coordinator aborts it when it is no longer wanted
  });
  /** Sends until it is answered, for at most `patienceMs`. */
  const ask = async (method: "GET" | "POST", path: string, body?: unknown, until: AbortSignal = signal) => {
    for (let tries = 0, failingSince = 0; ; tries++) {
      try {
        return await http.send(method, `${base}/worker/${path}`, body, { signal: until });
      } catch (error) {
        if (!(error instanceof HttpError) || error.status !== undefined) throw error;
        failingSince ||= performance.now();
        if (performance.now() - failingSince > patienceMs) throw error;
        await sleep(retryDelay(tries, error, { retryDelayMs: 100, maxRetryDelayMs: 5000 }), until);
      }
    }
  };
  const told = async <T>(schema: z.ZodType<T>, answer: ReturnType<typeof ask>): Promise<T> =>
    understood(schema, parseJson(await (await answer).text()));

  const result: WorkerResult = { counted: 0, late: 0 };
  const playing = new Set<Promise<void>>();
  let failure: unknown;
  async function play(lease: Lease, run: RunForWorkers): Promise<void> {
    const late = AbortSignal.timeout(lease.deadlineMs);
    let lost: unknown; // why nothing could be sampled, which says nothing about the model
    const policy = remotePolicy(run.capabilities, {
      async sample(request) {
        try {
          const asked = { worker, lease: lease.id, request };
          return await told(sampleAnswer, ask("POST", "sample", asked, AbortSignal.any([signal, late])));
        } catch (error) {
          lost ??= error;
          throw error;
        }
      },
      endSession: (sessionKey) =>
        void ask("POST", "end-session", { lease: lease.id, sessionKey }).catch(() => {
          // The cache of a chain that has ended is freed automatically.
        }),
    });
    const record = await options
      .play(lease, { policy, run, signal: AbortSignal.any([signal, late]) })
      .then((trajectory) => {
        if (lost !== undefined) throw lost;
        throwIfUserMustFix(trajectory.ending);
        return { worker, lease: lease.id, trajectory };
      })
      .catch((error: unknown) => {
        if (late.aborted || isGone(error) || isAbort(error)) return undefined;
        return { worker, lease: lease.id, error: messageOf(error) };
      });
    if (!record || signal.aborted) return;
    const { counted } = await told(resultAnswer, ask("POST", "result", record));
    result[counted ? "counted" : "late"]++;
    options.onResult?.({ lease: lease.id, counted });
  }

  try {
    const run = await told(runSchema, ask("GET", "run"));
    const identity = options.identity(run);
    const beat = setInterval(() => void ask("POST", "alive", { worker }).catch(() => {}), run.silenceMs / 4);
    beat.unref();
    try {
      while (!signal.aborted && failure === undefined) {
        if (playing.size >= concurrency) {
          await Promise.race(playing);
          continue;
        }
        const asked = ask("POST", "lease", { worker, count: concurrency - playing.size, identity });
        const { leases } = await told(leaseAnswer, asked);
        for (const lease of leases) {
          const one = play(lease, run)
            .catch((error: unknown) => {
              if (!isAbort(error)) failure ??= error;
            })
            .finally(() => playing.delete(one));
          playing.add(one);
        }
      }
    } finally {
      clearInterval(beat);
    }
  } catch (error) {
    if (error instanceof HttpError && error.status === 412)
      throw new UsageError(error.message.replace(/^.*?HTTP 412: /, ""));
    if (!isGone(error) && !signal.aborted) failure ??= error;
  } finally {
    stop.abort();
    await Promise.allSettled(playing);
    await http.close();
  }
  if (failure !== undefined) throw failure;
  return result;
}

/** The coordinator said that what was asked for has ended. */
function isGone(error: unknown): boolean {
  return error instanceof HttpError && error.status === 410;
}

/** A policy whose weights are elsewhere: whole answers, no masks. */
function remotePolicy(told: RunForWorkers["capabilities"], how: Pick<Policy, "sample" | "endSession">): Policy {
  const sample: Policy["sample"] = async ({ allowedTokens, onToken: _, signal: __, ...request }) => {
    if (allowedTokens) throw new CoaError("usage", "a worker's policy knows no token masks");
    return how.sample(request);
  };
  return {
    name: "coordinator",
    capabilities: {
      ...(told ?? { logprobs: "sampled", maxContext: 0, vocabularySize: 0 }),
      ...{ losses: {}, fullParameter: false, gradientClipping: false, gradientNorm: false },
      ...{ tokenMasks: false, overlap: true },
    },
    exact: true,
    version: 0,
    sample,
    sampleMany: sampleManyWith(sample),
    endSession: how.endSession,
  };
}
