/**
 * Groups of rollouts in flight, for training that does not wait for the slowest chain. So many groups are begun and not yet trained
 * on; the trainer takes the first that are finished and have something to teach. A group belongs to no step: it has a number,
 * and its task and seeds follow from that. Chains continue over a change of weights, and each token keeps the log-probability
 * it was sampled with, but a group whose oldest token is too many versions old is not trained on: its task begins again with new
 * seeds. A group without anything to teach, or too old, leaves the memory at once.
 */
import { notice } from "../base/work/followable-log.ts";
import { inOrder } from "../base/work/in-order.ts";
import { semaphore } from "../base/work/limiter.ts";
import type { Task } from "../core/task.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { type Rollout, type RolloutPlace, type RunRolloutOptions, runRollout } from "./run-rollout.ts";
import { type Collected, type CollectOptions, type Group, groupSorter, type SorterOptions } from "./sort-groups.ts";

export interface PoolOptions extends Omit<RunRolloutOptions, "maxContext">, SorterOptions {
  steps: number;
  /** Groups of a step, of `samples` rollouts each. */
  groups: number;
  /** Times that a group is begun before it is given up; bounds the groups that are sorted for one step, too. */
  maxRounds: number;
  /** Groups that are begun and not yet trained on. */
  inFlight: number;
  /** Optimizer steps between a group's oldest token and the weights that are trained on it, at most. */
  maxAge: number;
  /** Rollouts at the same time. Default: all in flight. */
  concurrency?: number;
  tasks: CollectOptions["tasks"];
  /** Longest context of a chain that begins in this step. */
  maxContext: (step: number) => number;
  journal: Pick<CollectOptions["journal"], "append">;
  /** What an earlier process left: where it was, and the rollouts it finished. */
  state?: PoolState;
  finished?: Iterable<Rollout>;
}

/** Which groups are neither trained on nor dropped: all others below `next` are. */
export interface PoolState {
  next: number;
  open: { group: number; round: number }[];
}

/** What a step got from the pool. */
export interface PoolCollected extends Collected {
  /** Groups that were too old and began again, and finished ones that wait for the next step. */
  requeued: number;
  waiting: number;
}

interface OpenGroup {
  group: number;
  round: number;
  task: Task;
  step: number;
  /** Version of the weights when its first chain began. */
  version: number;
  stop: AbortController;
}

/** A pool that begins with the first `take`. */
export function groupPool(options: PoolOptions) {
  const { samples, maxAge, journal } = options;
  const sorter = groupSorter(options);
  const places = options.concurrency === undefined ? undefined : semaphore(options.concurrency);
  const supply = taskSupply(options);
  const finished = new Map(Array.from(options.finished ?? [], (rollout) => [nameOf(rollout), rollout]));
  const running = new Map<number, OpenGroup>();
  const ready: { open: OpenGroup; group: Group; version: number }[] = [];
  const again = [...(options.state?.open ?? [])];
  const ends = new Set<Promise<void>>();
  const counts = { sorted: 0, requeued: 0 };
  const now = { step: 0, version: 0 };
  let next = options.state?.next ?? 0;
  let supplyEnded = false;
  let closed = false;
  let failure: unknown;
  const inTurn = inOrder();
  const filled = notice();

  const tooOld = (version: number) => now.version - version > maxAge;

  async function one(open: OpenGroup, sample: number): Promise<Rollout> {
    const place: RolloutPlace = { step: open.step, round: open.round, slot: open.group, sample };
    const known = finished.get(nameOf(place));
    finished.delete(nameOf(place));
    if (known) return known;
    const signal = options.signal ? AbortSignal.any([options.signal, open.stop.signal]) : open.stop.signal;
    const release = await places?.acquire(signal);
    open.version = Math.min(open.version, now.version);
    try {
      const { seed, rollout: play, reward } = options;
      const maxContext = options.maxContext(now.step);
      const rollout = await runRollout(open.task, place, { seed, maxContext, rollout: play, reward, signal });
      await journal.append(rollout);
      return rollout;
    } finally {
      release?.();
    }
  }

  async function run(open: OpenGroup): Promise<void> {
    const outcomes = await Promise.allSettled(
      Array.from({ length: samples }, (_, sample) =>
        one(open, sample).catch((error: unknown) => {
          open.stop.abort(error);
          throw error;
        }),
      ),
    );
    if (running.get(open.group) !== open) return; // it was too old, and began again
    if (outcomes.some((outcome) => outcome.status === "rejected")) {
      failure ??= open.stop.signal.reason; // what its first failure was; its siblings stopped because of it
      return;
    }
    running.delete(open.group);
    sort(
      open,
      outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Rollout>).value),
    );
  }

  function sort(open: OpenGroup, rollouts: Rollout[]): void {
    counts.sorted++;
    const version = Math.min(...rollouts.map(({ trajectory }) => oldestVersion(trajectory)));
    const group = sorter.add(open.task, rollouts);
    if (!group) return;
    sorter.drop(rollouts);
    if (tooOld(version)) requeue(open, group);
    else ready.push({ open, group, version });
  }

  function requeue(open: OpenGroup, group?: Group): void {
    counts.requeued++;
    if (group) sorter.drop(group.rollouts, "stale");
    if (open.round + 1 < options.maxRounds) again.push({ group: open.group, round: open.round + 1 });
    else counts.sorted++;
  }

  async function fill(): Promise<void> {
    while (!closed && failure === undefined && running.size + ready.length < options.inFlight) {
      const place = again[0] ?? (supplyEnded ? undefined : { group: next, round: 0 });
      if (!place) return;
      const { group, round } = place;
      const found = await supply(group);
      if (again[0] === place) again.shift();
      else next++;
      if (found === "ended") supplyEnded = true;
      if (typeof found === "string") continue;
      const open = { ...found, group, round, version: Number.POSITIVE_INFINITY, stop: new AbortController() };
      running.set(group, open);
      const end = run(open).finally(() => {
        ends.delete(end);
        refill();
      });
      ends.add(end);
    }
  }
  const refill = () => {
    void inTurn(fill)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .then(() => filled.give());
  };

  /** Takes what has become too old out of the pool. */
  function dropOld(): void {
    for (const open of running.values()) {
      if (!tooOld(open.version)) continue;
      running.delete(open.group);
      open.stop.abort();
      requeue(open);
    }
    for (const { open, group } of ready.filter(({ version }) => tooOld(version))) requeue(open, group);
    ready.splice(0, ready.length, ...ready.filter(({ version }) => !tooOld(version)));
  }

  return {
    /** The groups of a step, for weights of this version; nothing older than allowed is among them. */
    async take(step: number, version: number): Promise<PoolCollected> {
      Object.assign(now, { step, version });
      dropOld();
      refill();
      const bound = options.groups * (2 * options.maxRounds - 1);
      const enough = () =>
        ready.length >= options.groups ||
        counts.sorted >= bound ||
        (supplyEnded && running.size === 0 && again.length === 0);
      while (failure === undefined && !enough()) await filled.wait();
      if (failure !== undefined) throw failure;
      const taken = ready.splice(0, options.groups).map(({ group }) => group);
      const collected = { ...sorter.take(taken), requeued: counts.requeued, waiting: ready.length };
      Object.assign(counts, { sorted: 0, requeued: 0 });
      refill();
      return collected;
    },
    state: (): PoolState => ({
      next,
      open: [...running.values(), ...ready.map(({ open }) => open), ...again].map(({ group, round }) => ({
        group,
        round,
      })),
    }),
    /** Stops all chains and waits for their end. */
    async close(): Promise<void> {
      closed = true;
      for (const { stop } of running.values()) stop.abort();
      await inTurn(() => {});
      await Promise.all(ends);
    },
  };
}

/** The task of a group by its number: as many groups as make up a step share the tasks of one call. */
function taskSupply({ tasks, groups, steps }: Pick<PoolOptions, "tasks" | "groups" | "steps">) {
  let latest: { block: number; tasks: readonly Task[] } | undefined;
  return async (group: number): Promise<{ task: Task; step: number } | "none" | "ended"> => {
    const block = Math.floor(group / groups);
    const step = Math.min(block, steps - 1);
    if (latest?.block !== block) latest = { block, tasks: await tasks(step, block - step, groups) };
    const task = latest.tasks[group % groups];
    return task ? { task, step } : latest.tasks.length === 0 ? "ended" : "none";
  };
}

function nameOf({ slot, round, sample }: RolloutPlace): string {
  return `${slot}/${round}/${sample}`;
}

function oldestVersion({ policyVersion, segments }: Trajectory): number {
  const versions = segments.flatMap((segment) => segment.policyVersion ?? []);
  return Math.min(policyVersion ?? Number.POSITIVE_INFINITY, ...versions);
}
