/**
 * The side of a training run that workers talk to. `run` says what the run is; `lease` gives rollouts to a worker with
 * the same identity and refuses any other, naming the difference; `sample` lets it sample from the run's own policy, so
 * that a worker needs no weights; `result` takes a trajectory, as packed bytes; `alive` is a sign of life. Whoever
 * reaches the port may run rollouts, so beyond loopback a key is needed.
 */
import { z } from "zod";
import { packRecord, unpackRecord } from "../../base/files/packed-records.ts";
import { type Guarded, type GuardSettings, guarded, type Route, withBody } from "../../base/http/guard.ts";
import { parse, RefusedRequest } from "../../base/http/refusal.ts";
import type { EngineCapabilities } from "../../core/engine.ts";
import { CoaError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { readTrajectory } from "../../core/trajectory.ts";
import type { LeaseBoard } from "./lease-board.ts";
import { differences, type WorkerIdentity, workerIdentitySchema } from "./worker-identity.ts";

/** What a worker is told of the run before it takes leases. */
export interface RunForWorkers {
  identity: WorkerIdentity;
  /** One of the tasks, for tools that depend on it. */
  task: Task;
  /** How chains are run: what the run's flags say. */
  chain: Record<string, unknown>;
  capabilities: EngineCapabilities;
  /** Where to sample; the coordinator itself where there is none. */
  sampler?: { baseURL: string; baseModel: string; model?: string };
  /** A worker that sends nothing for so long counts as lost. */
  silenceMs: number;
}

export interface CoordinatorOptions extends GuardSettings {
  board: LeaseBoard;
  run: RunForWorkers;
  /** Keys that workers must bring; none: whoever reaches the port may work. */
  apiKeys?: readonly string[];
  /** How long a request for leases is held where there is nothing to do. */
  holdMs?: number;
}

const maxBodyBytes = 2 ** 28;
const fromWorker = z.object({ worker: z.string() });
const endedSession = z.object({ lease: z.string(), sessionKey: z.string() });
const leaseRequest = z.object({
  worker: z.string().min(1).max(200),
  count: z.number().int().min(1).max(4096),
  identity: workerIdentitySchema,
});
const sampleRequest = z.object({
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
const resultRecord = z.object({
  worker: z.string(),
  lease: z.string(),
  trajectory: z.unknown().optional(),
  error: z.string().optional(),
});

/** The routes under `/worker/`. */
export function coordinatorHandler({ board, run, ...options }: CoordinatorOptions): Guarded {
  const table: Record<string, Route> = {
    "GET /worker/run": () => run,
    "POST /worker/alive": withBody(fromWorker, ({ worker }) => {
      board.heard(worker);
      return {};
    }),
    "POST /worker/lease": withBody(leaseRequest, async ({ worker, count, identity }, { request }) => {
      const found = differences(identity, run.identity);
      // 412: a repeated request would be refused again.
      if (found.length > 0) throw new RefusedRequest(412, `worker ${worker} is refused: ${found.join("; ")}`);
      const leases = await board.lease(worker, count, options.holdMs ?? 20_000, request.signal);
      if (!leases) throw new RefusedRequest(410, "the run has ended");
      return { leases };
    }),
    "POST /worker/sample": async ({ request, reply, bytes }) => {
      const asked = parse(sampleRequest, unpackRecord(await bytes()));
      board.heard(asked.worker);
      const policy = board.policyOf(asked.lease);
      if (!policy) throw new RefusedRequest(410, "this rollout is no longer needed");
      const sample = await policy.sample({ ...asked.request, signal: request.signal });
      reply.send(200, packRecord(sample), { "content-type": "application/octet-stream" });
    },
    "POST /worker/end-session": withBody(endedSession, ({ lease, sessionKey }) => {
      board.policyOf(lease)?.endSession?.(sessionKey);
      return {};
    }),
    "POST /worker/result": async ({ bytes }) => {
      const { worker, lease, trajectory, error } = parse(resultRecord, unpackRecord(await bytes()));
      board.heard(worker);
      if (error === undefined) return { counted: board.complete(lease, readTrajectory(trajectory)) };
      board.fail(lease, new CoaError("network", `worker ${worker} failed: ${error}`));
      return { counted: false };
    },
  };
  return guarded(table, {
    access: options.access,
    onRequest: options.onRequest,
    keys: options.apiKeys?.map((key) => ({ key })),
    maxBodyBytes,
    errorBody: ({ message }) => ({ error: { message } }),
  });
}
