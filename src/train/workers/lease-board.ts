/**
 * Rollouts that wait for a worker to run them. A job is offered to one worker at a time, as a lease that ends when the
 * worker is silent or the deadline passes; then it is offered again, so every job is run at least once. The first
 * result counts, from whichever worker; one with a later result learns that. The caller of the rollout waits for that
 * first result.
 */
import { randomUUID } from "node:crypto";
import { notice } from "../../base/work/followable-log.ts";
import type { Policy } from "../../core/engine.ts";
import type { Task } from "../../core/task.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Lease } from "./worker-protocol.ts";

/** What a rollout is run with: the policy of a run here, or an address where its trainer serves one. */
export interface BoardRun extends Pick<Lease, "seed" | "step" | "sample" | "maxContext" | "policyAt" | "chain"> {
  policy?: Policy;
  signal?: AbortSignal;
  /** Whose it is: workers are shared evenly among owners. */
  owner?: string;
}

export interface LeaseBoardOptions {
  /** How long one rollout may take before it is offered again. */
  deadlineMs: number;
  /** Silence after which a worker counts as lost. */
  silenceMs: number;
  now?: () => number;
}

interface Job {
  number: number;
  task: Task;
  run: BoardRun;
  /** Aborts when it is waited for no longer. */
  gone: AbortController;
  resolve(trajectory: Trajectory): void;
  reject(error: unknown): void;
  lease?: { worker: string; ends: number };
  /** Version of the weights when it was first leased. */
  begun?: number;
}

export type LeaseBoard = ReturnType<typeof leaseBoard>;

/** An empty board. */
export function leaseBoard({ deadlineMs, silenceMs, now = () => performance.now() }: LeaseBoardOptions) {
  const jobs = new Map<number, Job>(); // in the order in which they were asked for
  const lastHeard = new Map<string, number>();
  const changed = notice();
  // A resumed run counts from 0 again: results of leases that an earlier process gave must not fit.
  const board = randomUUID();
  let next = 0;
  let leases = 0;
  let offeredAgain = 0;
  let closed = false;
  const jobOf = (lease: string) => {
    const [from, number] = lease.split("/");
    return from === board ? jobs.get(Number(number)) : undefined;
  };

  /** Takes back what silent workers and past deadlines hold. */
  function takeBack(): void {
    const at = now();
    for (const job of jobs.values()) {
      if (!job.lease) continue;
      const silent = at - (lastHeard.get(job.lease.worker) ?? 0) > silenceMs;
      if (!silent && at < job.lease.ends) continue;
      job.lease = undefined;
      offeredAgain++;
    }
    for (const [worker, heard] of lastHeard) if (at - heard > silenceMs) lastHeard.delete(worker);
  }

  /** What waits, the owners in turn: first those of whom the fewest rollouts are being run. */
  function inTurn(): Job[] {
    const taken = new Map<string | undefined, number>();
    const rank = ({ run }: Job) => {
      const place = taken.get(run.owner) ?? 0;
      taken.set(run.owner, place + 1);
      return place;
    };
    for (const job of jobs.values()) if (job.lease) rank(job);
    const waiting = [...jobs.values()].filter((job) => !job.lease).map((job) => ({ job, place: rank(job) }));
    return waiting.sort((a, b) => a.place - b.place).map(({ job }) => job);
  }

  function give(worker: string, count: number): Lease[] {
    takeBack();
    const given: Lease[] = [];
    for (const job of inTurn().slice(0, count)) {
      job.lease = { worker, ends: now() + deadlineMs };
      const { policy, seed, step, sample, maxContext, policyAt, chain } = job.run;
      job.begun ??= policy?.version;
      const id = `${board}/${job.number}/${leases++}`;
      const { servedAs } = policy ?? {};
      given.push({ id, task: job.task, seed, step, sample, maxContext, policyAt, chain, servedAs, deadlineMs });
    }
    return given;
  }

  const leased = () => jobs.values().reduce((sum, { lease }) => sum + Number(lease !== undefined), 0);

  return {
    /** Rollouts that were taken back from a worker and offered again, so far. */
    get offeredAgain(): number {
      return offeredAgain;
    },
    /** Rollouts that workers run, and those that wait for one. */
    get running(): number {
      return leased();
    },
    get waiting(): number {
      return jobs.size - leased();
    },
    workers(): number {
      takeBack();
      return lastHeard.size;
    },
    /** The worker has sent a sign of life. */
    heard: (worker: string): void => void lastHeard.set(worker, now()),
    /** Puts a rollout on the board; resolves with the first result. */
    play(task: Task, run: BoardRun): Promise<Trajectory> {
      run.signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<Trajectory>();
      const number = next++;
      const gone = new AbortController();
      const onAbort = () => {
        jobs.delete(number);
        gone.abort(run.signal!.reason);
        reject(run.signal!.reason);
      };
      run.signal?.addEventListener("abort", onAbort, { once: true });
      jobs.set(number, { number, task, run, gone, resolve, reject });
      changed.give();
      return promise.finally(() => run.signal?.removeEventListener("abort", onAbort));
    },
    /** Up to `count` leases for a worker; waits up to `holdMs` for the first. Null once the board is closed. */
    async lease(worker: string, count: number, holdMs: number, signal?: AbortSignal): Promise<Lease[] | null> {
      lastHeard.set(worker, now());
      const until = now() + holdMs;
      for (;;) {
        if (closed) return null;
        const given = give(worker, count);
        const left = until - now();
        if (given.length > 0 || left <= 0 || signal?.aborted) return given;
        // Resumed by a new job, and in between to find the leases of lost workers.
        await changed.wait({ withinMs: Math.min(left, Math.max(10, silenceMs / 4)), signal });
        lastHeard.set(worker, now());
      }
    },
    /** Takes a result; false where an earlier one counted or it is no longer wanted. */
    complete(lease: string, trajectory: Trajectory): boolean {
      const job = jobOf(lease);
      if (!job) return false;
      jobs.delete(job.number);
      job.resolve({ ...(job.begun !== undefined && { policyVersion: job.begun }), ...trajectory });
      return true;
    },
    /** Ends a rollout with a failure that only the user can fix. */
    fail(lease: string, error: unknown): void {
      const job = jobOf(lease);
      if (!job) return;
      jobs.delete(job.number);
      job.reject(error);
    },
    /** The policy of a lease; undefined where its rollout is no longer wanted. */
    policyOf: (lease: string): Policy | undefined => jobOf(lease)?.run.policy,
    /** Aborts when a lease's rollout is no longer wanted; undefined where that is so already. */
    signalOf: (lease: string): AbortSignal | undefined => jobOf(lease)?.gone.signal,
    close(): void {
      closed = true;
      changed.give();
    },
  };
}
