/**
 * The side of a training run that workers talk to. `run` says what the run is; `lease` gives rollouts to a worker with
 * the same identity and refuses any other, naming the difference; `sample` lets it sample from the run's own policy, so
 * that a worker needs no weights; `result` takes a trajectory; `alive` is a sign of life. All
 * who reach the port may run rollouts, so beyond loopback a key is needed.
 */
import { z } from "zod";
import { type Guarded, type GuardSettings, guarded, type Route, withBody } from "../../base/http/guard.ts";
import { Refusal } from "../../base/http/refusal.ts";
import { CoaError } from "../../core/errors.ts";
import { trajectorySchema } from "../../core/trajectory-schema.ts";
import type { LeaseBoard } from "./lease-board.ts";
import { differences, leaseRequest, type RunForWorkers, resultRecord, sampleRequest } from "./worker-protocol.ts";

export interface CoordinatorOptions {
  board: LeaseBoard;
  run: RunForWorkers;
  /** How long a request for leases is held where there is nothing to do. */
  holdMs?: number;
}

const maxBodyBytes = 2 ** 28;
const fromWorker = z.object({ worker: z.string() });
const endedSession = z.object({ lease: z.string(), sessionKey: z.string() });

/** The routes under `/worker/`, for a server that has others too. */
export function coordinatorRoutes({ board, run, holdMs = 20_000 }: CoordinatorOptions): Record<string, Route> {
  return {
    "GET /worker/run": () => run,
    "POST /worker/alive": withBody(fromWorker, ({ worker }) => {
      board.heard(worker);
      return {};
    }),
    "POST /worker/lease": withBody(leaseRequest, async ({ worker, count, identity }, { request }) => {
      const found = differences(identity, run.identity);
      // 412: a repeated request would be refused again.
      if (found.length > 0) throw new Refusal(412, `worker ${worker} is refused: ${found.join("; ")}`);
      const leases = await board.lease(worker, count, holdMs, request.signal);
      if (!leases) throw new Refusal(410, "the run has ended");
      return { leases };
    }),
    "POST /worker/sample": withBody(sampleRequest, (asked, { request }) => {
      board.heard(asked.worker);
      const policy = board.policyOf(asked.lease);
      if (!policy) throw new Refusal(410, "this rollout is no longer needed");
      return policy.sample({ ...asked.request, signal: request.signal });
    }),
    "POST /worker/end-session": withBody(endedSession, ({ lease, sessionKey }) => {
      board.policyOf(lease)?.endSession?.(sessionKey);
      return {};
    }),
    "POST /worker/result": withBody(resultRecord, ({ worker, lease, trajectory, error }) => {
      board.heard(worker);
      if (error === undefined) return { counted: board.complete(lease, trajectorySchema.parse(trajectory)) };
      board.fail(lease, new CoaError("network", `worker ${worker} failed: ${error}`));
      return { counted: false };
    }),
  };
}

export function coordinatorHandler({
  access,
  keys,
  onRequest,
  ...options
}: CoordinatorOptions & GuardSettings): Guarded {
  return guarded(coordinatorRoutes(options), {
    access,
    keys,
    onRequest,
    maxBodyBytes,
    errorBody: ({ message }) => ({ error: { message } }),
  });
}
