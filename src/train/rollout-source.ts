/**
 * Where a step gets its groups from. `stepSource`: it publishes the weights, samples its own groups and waits for all of them, so the
 * same seed gives the same numbers. `poolSource`: groups are in flight all the time, and the step takes what is finished;
 * publishing changes the weights under chains that are under way.
 */
import { join } from "node:path";
import { jsonlJournal } from "../base/files/open-jsonl.ts";
import type { Policy, SampleRequest } from "../core/engine.ts";
import { UsageError } from "../core/errors.ts";
import type { Journal } from "../core/journal.ts";
import { taskSchema } from "../core/task-schema.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import { groupPool, type PoolState } from "./group-pool.ts";
import type { RlSetup } from "./rl-options.ts";
import type { Checkpoint } from "./run-folder.ts";
import { type Rollout, type RolloutRun, rolloutKey } from "./run-rollout.ts";
import { contextAt } from "./schedule.ts";
import { type Collected, collectGroups } from "./sort-groups.ts";

export interface RolloutSource {
  collect(step: number): Promise<Collected>;
  /** What a checkpoint must name so that a resumed run trains on no group twice. */
  state?(): PoolState;
  close(): Promise<void>;
}

/** Where every finished rollout is kept, in the order of their end; read back whole before it is used. */
async function openJournal({ folder }: Pick<RlSetup, "folder">): Promise<Journal<Rollout>> {
  const journal = await jsonlJournal<Rollout>(join(folder, "rollouts.jsonl"));
  return {
    ...journal,
    async *read() {
      for await (const rollout of journal.read())
        yield {
          ...rollout,
          task: taskSchema.parse(rollout.task),
          trajectory: trajectorySchema.parse(rollout.trajectory),
        };
    },
  };
}

function shared(options: RlSetup) {
  const { seed, tasks, reward, signal, temperature, engine, credit } = options;
  const { groups, samples, maxRounds, context } = options.collect;
  const keepAll = options.extraLosses.some((extra) => extra.keepsAll);
  const maxContext = (step: number) => contextAt(context, step, engine.capabilities.maxContext);
  const publish = async () => exactPolicy(await engine.publish(), temperature);
  const play = async (task: Rollout["task"], run: RolloutRun, policy: Policy) => ({
    policyVersion: policy.version,
    ...(await options.rollout(task, { ...run, policy })),
  });
  return {
    collecting: { seed, groups, samples, maxRounds, tasks, reward, signal, keepAll, credit },
    maxContext,
    publish,
    play,
  };
}

/** Every step collects its own groups; rollouts of steps after the checkpoint are taken from the journal. */
export async function stepSource(options: RlSetup, done: number): Promise<RolloutSource> {
  const { collecting, maxContext, publish, play } = shared(options);
  const journal = await openJournal(options);
  const finished = new Map<string, Rollout>();
  for await (const rollout of journal.read()) if (rollout.step >= done) finished.set(rolloutKey(rollout), rollout);
  return {
    async collect(step) {
      const policy = await publish();
      return collectGroups({
        ...collecting,
        step,
        maxContext: maxContext(step),
        rollout: (task, run) => play(task, run, policy),
        concurrency: options.collect.concurrency ?? 64,
        journal,
        finished,
      });
    },
    close: () => journal.close(),
  };
}

/** Groups in flight over all steps; what an earlier process finished and the checkpoint has not trained on is taken over. */
export async function poolSource(
  options: RlSetup,
  checkpoint: Checkpoint<{ pool?: PoolState }> | null,
): Promise<RolloutSource> {
  const { collecting, maxContext, publish, play } = shared(options);
  const state = checkpoint?.memory.pool;
  let current = await publish();
  const finished: Rollout[] = [];
  const isOpen = openGroups(state);
  const journal = await openJournal(options);
  for await (const rollout of journal.read())
    if (isOpen(rollout.slot))
      finished.push({ ...rollout, trajectory: asSeenFrom(rollout.trajectory, current.version) });
  /** Always the weights that were published last. */
  const newest: Policy = {
    name: current.name,
    capabilities: current.capabilities,
    get version() {
      return current.version;
    },
    sample: (request) => current.sample(request),
    sampleMany: (request, n) => current.sampleMany(request, n),
    endSession: (key) => current.endSession?.(key),
  };
  const pool = groupPool({
    ...collecting,
    steps: options.steps,
    inFlight: options.collect.inFlight,
    maxAge: options.collect.maxStaleness * options.updates.passes * options.updates.perPass,
    concurrency: options.collect.concurrency,
    maxContext,
    rollout: (task, run) => play(task, run, newest),
    journal,
    state,
    finished,
  });
  return {
    async collect(step) {
      current = await publish();
      return pool.take(step, current.version);
    },
    state: pool.state,
    async close() {
      await pool.close();
      await journal.close();
    },
  };
}

/** Whether a group was neither trained on nor dropped when the state was saved. */
function openGroups(state: PoolState | undefined): (group: number) => boolean {
  const open = new Set(state?.open.map(({ group }) => group));
  return (group) => group >= (state?.next ?? 0) || open.has(group);
}

/**
 * A trajectory with versions as they count from weights of `version`. Weights later than a checkpoint are lost with the process: what
 * they sampled is as far from the checkpoint's weights as if it were so many versions older.
 */
function asSeenFrom(trajectory: Trajectory, version: number): Trajectory {
  const seen = (sampled: number | undefined) =>
    sampled === undefined || sampled <= version ? sampled : 2 * version - sampled;
  const segments = trajectory.segments.map((segment) =>
    segment.policyVersion === undefined ? segment : { ...segment, policyVersion: seen(segment.policyVersion) },
  );
  return { ...trajectory, policyVersion: seen(trajectory.policyVersion), segments };
}

/**
 * RL compares a token's log-probability now with the one it was sampled with. The comparison means something only when
 * both are of the same distribution, so sampling that the loss can't reproduce is refused where it is asked for: top-p,
 * top-k and grammar masks, which cut the distribution, and a temperature other than the run's.
 */
export function exactPolicy(policy: Policy, temperature: number): Policy {
  const exact = (request: SampleRequest): SampleRequest => {
    const { topP = 1, topK = 0, allowedTokens } = request;
    const asked = request.temperature ?? 1;
    if (asked !== temperature)
      refuse(`temperature ${asked}, but the run trains at temperature ${temperature}: pass the same to both`);
    if (topP < 1) refuse(`top-p ${topP}: set it to 1`);
    if (topK > 0) refuse(`top-k ${topK}: set it to 0`);
    if (!allowedTokens) return request;
    return {
      ...request,
      allowedTokens(sampled) {
        const allowed = allowedTokens(sampled);
        // A single id is a forced end of turn, which is not trained on.
        if (allowed && allowed.length !== 1) refuse("a token mask: leave the answer's schema out");
        return allowed;
      },
    };
  };
  return {
    ...policy,
    exact: true,
    sample: (request) => policy.sample(exact(request)),
    sampleMany: (request, n) => policy.sampleMany(exact(request), n),
  };
}

function refuse(what: string): never {
  throw new UsageError(`RL can't train on samples drawn with ${what}`);
}
